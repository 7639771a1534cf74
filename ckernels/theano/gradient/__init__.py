"""Gradients: grad with its options, what passes objects, R and L operators, OpFromGraph."""
