"""What Ops are: the base classes, the rules of elementwise operations, and scalar ops."""
