"""The planning room: from a concrete graph to the instructions of a C plan."""
