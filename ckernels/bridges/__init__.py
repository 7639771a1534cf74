"""Other engines as clients: each bridge is imported on demand and nothing else knows of it.

`pytensor/` lets PyTensor (and with it PyMC) run its graphs here. A bridge translates graphs and
keeps the other side's conventions: its exceptions, its names, its way of holding state.
"""
