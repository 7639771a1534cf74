"""Prices of European calls and puts: three streams in, two out, float64."""

import numpy as np

from benchmarks.workload import WON, Case, Workload

RATE, VOLATILITY = 0.03, 0.2


class BlackScholes(Workload):
    name = "black-scholes"
    title = "Black-Scholes, call and put, float64"
    limit_is = "C loop with OpenMP and glibc's vector math"
    rtol, atol = 1e-9, 1e-9

    def cases(self):
        return [Case("Black-Scholes f64 4e6", {"n": 4_000_000}, (WON,))]

    def data(self, rng, n):
        return rng.uniform(10, 50, n), rng.uniform(10, 50, n), rng.uniform(0.2, 2, n)

    def formula(self, xp, price, strike, years, n, erf=None):
        erf = erf or xp.erf
        root = VOLATILITY * xp.sqrt(years)
        drift = (RATE + VOLATILITY**2 / 2) * years
        d1 = (xp.log(price / strike) + drift) / root
        later = strike * xp.exp(-RATE * years)
        half = 0.7071067811865476
        call = price * (0.5 + 0.5 * erf(d1 * half)) - later * (0.5 + 0.5 * erf((d1 - root) * half))
        return [call, call - price + later]

    def numpy(self, xp, price, strike, years, n):
        from scipy.special import ndtr

        root = np.sqrt(years)
        root *= VOLATILITY
        d1 = price / strike
        np.log(d1, out=d1)
        part = years * (RATE + VOLATILITY**2 / 2)
        d1 += part
        d1 /= root
        np.subtract(d1, root, out=root)
        np.multiply(years, -RATE, out=part)
        later = np.exp(part, out=part)
        later *= strike
        call = ndtr(d1, out=d1)
        call *= price
        ndtr(root, out=root)
        root *= later
        call -= root
        later -= price
        later += call
        return [call, later]

    def jax(self, xp, price, strike, years, n):
        from jax.scipy.special import erf

        return self.formula(xp, price, strike, years, n, erf=erf)

    def limit(self, c, price, strike, years, n):
        out = [np.empty(n), np.empty(n)]
        return c.call("black_scholes_f64", price, strike, years, *out, n, result=out)


WORKLOADS = [BlackScholes()]
