"""The version of ckernels, as packages name it."""

VERSION = "0.2.0"
