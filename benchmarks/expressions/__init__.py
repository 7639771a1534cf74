"""Twenty expressions of numexpr's guide, pandas, physics, finance and images, at five sizes, beside
numexpr, numba, JAX and torch.compile. See RESULTS.md."""
