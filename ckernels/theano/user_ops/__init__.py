"""Ops that users write: in Python, in C, and the types of their own variables."""
