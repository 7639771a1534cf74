"""The graph as it was written: variables, Apply nodes, types, walks and FunctionGraph."""
