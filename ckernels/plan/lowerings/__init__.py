"""Lowerings of ops that are no loop nests of scalar expressions, one file per subject."""
