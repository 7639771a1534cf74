"""Ops on the digits of numbers: neighbours of floats, their exponents, exact remainders, bits.

Their C is in templates/math_digits.h.in. What is made of them (spacing, frexp) are rows of NumPy's.
"""

import numpy as np

from .base import elementwise, zeros_like
from .elementwise import mul, true_div, trunc

__all__ = ["signbit", "nextafter", "ldexp", "exponent", "fmod", "gcd", "bit_count"]


def _ldexp(x, e):
    return np.ldexp(x, np.clip(np.nan_to_num(e), -5000, 5000).astype("int32"))


def _exponent(x):
    return np.frexp(x)[1].astype("int32")


def _grad_fmod(x, z, y, g):
    return g, mul(g, mul(trunc(true_div(x, z)), -1))


def _bit_count(x):
    size = np.where(x < 0, np.negative(x), x).astype(np.dtype(f"u{x.dtype.itemsize}"))
    octets = np.asarray(size, order="C")[..., None].view("uint8")
    return np.unpackbits(octets, -1).sum(-1).astype("uint8")


# fmt: off
signbit = elementwise("signbit", "ck_signbit_{S}({0})", np.signbit, out="bool", ulp=0, takes="f",
                      doc="Whether the sign of a float is negative, that of zeros and NaN too.")
nextafter = elementwise("nextafter", "ck_nextafter_{S}({0}, {1})", np.nextafter,
                        lambda x, z, y, g: (g, zeros_like(z)), ulp=0, cost=4, takes="f",
                        doc="The float next to x on the way to z.")
ldexp = elementwise("ldexp", "ck_ldexp_{S}({0}, {1})", _ldexp,
                    lambda x, e, y, g: (ldexp(g, e), None), ulp=0, cost=4, takes="f",
                    doc="x * 2 ** e, rounded once; e is a float that holds an integer.")
exponent = elementwise("exponent", "ck_binary_exponent_{S}({0})", _exponent, out="int32", ulp=0,
                       cost=3, takes="f",
                       doc="The e for which x / 2 ** e is 0.5 to 1; 0 for 0, infinities and NaN.")
fmod = elementwise("fmod", "ck_fmod_{S}({0}, {1})", np.fmod, _grad_fmod, ulp=0, cost=20, takes="f",
                   doc="The exact rest of x / z, with the sign of x.")
gcd = elementwise("gcd", "ck_gcd_{S}({0}, {1})", np.gcd, rule="number", ulp=0, cost=20, takes="iu",
                  doc="The greatest common divisor, not negative.")
bit_count = elementwise("bit_count", "ck_bit_count_{S}({0})", _bit_count, out="uint8", ulp=0,
                        rule="number", cost=2, takes="iu", doc="How many bits of |x| are set.")
# fmt: on
