"""The forms of loop nests: which loops there are, what is computed at which level, what is kept.

A form walks one Kernel and asks a printer for statements. Forms know operands, levels and index
arithmetic; types, pragmas and the text of ops are the printer's.
"""
