"""Parts of tensors: `keys` parses `x[key]`, `slicing` has the ops on slices, `advanced` those on
index arrays. Import from these three; nothing is repeated here."""
