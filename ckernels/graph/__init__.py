"""The graph room: hash-consed nodes, their shapes, walks over them, and printing. Knows no op by name."""
