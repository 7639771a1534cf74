"""The K functions by topic: thin functions on `Tensor` handles; the ops do the work."""
