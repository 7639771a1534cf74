"""The schedule room: which nodes of a graph become one loop nest. It knows no strides and no C."""
