"""Mutants that no test can see, with the reason: what they change saves work or decides nothing.

{file: {what build_tools/mutants.py says of the change: why it decides nothing}}
"""

EQUIVALENT = {}
