"""Rewrites of users over the graph as it was written, and databases of them."""
