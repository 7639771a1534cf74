"""Parts of tensors: `keys` parses `x[key]`, `slicing` has the ops on slices, `advanced` those on
index arrays, `combining` larger and smaller ones there. Nothing is repeated here."""
