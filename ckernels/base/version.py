"""The version of ckernels, as packages name it."""

VERSION = "0.1.0"
