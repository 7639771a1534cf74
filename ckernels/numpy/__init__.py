"""NumPy's semantics over nodes: rows (what each name builds), promotion, values with views.

What traces plain NumPy (`ckernels.jit`), parses expressions or speaks another library's NumPy
builds on it. Nothing here runs anything.
"""
