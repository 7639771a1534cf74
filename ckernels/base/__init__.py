"""What every room needs: errors, flags, dtypes, locks and the collector of cycles.

The room imports nothing of the rest of ckernels. Users meet its exceptions and flags as
`ckernels.errors` and `ckernels.config`.
"""
