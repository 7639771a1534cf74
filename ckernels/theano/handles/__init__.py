"""Variables of tensors: their types, constants, shared variables and test values."""
