"""The autodiff room: gradients of graphs, batches of graphs, and both for scans."""
