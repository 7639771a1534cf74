"""The graph room: hash-consed nodes, their shapes, walks over them, printing. Knows no op."""
