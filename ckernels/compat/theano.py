"""Theano 1.0 on ckernels: `import ckernels.compat.theano as theano`.

The name that the front end is documented by: what stands here is the package theano/modules, with
all modules below it.
"""

from ckernels.theano.modules.installing import documented, main

if __name__ == "__main__":
    raise SystemExit(main())

documented()
