"""Rewrites of scans: which steps and results are needed, and what need not be done per step."""
