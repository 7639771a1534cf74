"""Radon in PyMC, sampled with ckernels: a varying-intercept, varying-slope model of 85 counties.

    pip install "ckernels[pytensor]" pymc nutpie
    python examples/pymc_radon.py [--draws 500] [--nutpie]

The two lines are `import ckernels.pytensor` and `backend="ckernels"`; the rest is a PyMC program as
its manual has it. The data are drawn here from a fixed seed with the structure of the radon study,
so that what was put in can be compared with what comes out.
"""

import argparse
import time

import numpy as np
import pymc as pm

import ckernels.pytensor

TRUE = {"intercept": 1.4, "floor_effect": -0.7, "sigma": 0.75}


def data(seed=42, houses=919, counties=85):
    """(county of each house, whether it was measured on the first floor, log of its radon)."""
    rng = np.random.default_rng(seed)
    county = np.sort(rng.integers(0, counties, houses))
    floor = rng.integers(0, 2, houses).astype(float)
    level = TRUE["intercept"] + rng.normal(0, 0.3, counties)[county]
    slope = TRUE["floor_effect"] + rng.normal(0, 0.2, counties)[county]
    return county, floor, level + slope * floor + rng.normal(0, TRUE["sigma"], houses)


def radon(county, floor, log_radon):
    """The model."""
    with pm.Model() as model:
        intercept = pm.Normal("intercept", sigma=10)
        county_sd = pm.HalfNormal("county_sd")
        county_effect = county_sd * pm.ZeroSumNormal("county_raw", shape=85)
        floor_effect = pm.Normal("floor_effect", sigma=2)
        floor_sd = pm.HalfNormal("county_floor_sd")
        county_floor = floor_sd * pm.ZeroSumNormal("county_floor_raw", shape=85)
        mu = intercept + county_effect[county] + (floor_effect + county_floor[county]) * floor
        pm.Normal("log_radon", mu=mu, sigma=pm.HalfNormal("sigma", sigma=1.5), observed=log_radon)
    return model


def sample(model, draws, with_nutpie):
    """Draws of the posterior: by PyMC's sampler, or by nutpie on C function pointers."""
    if with_nutpie:
        import nutpie

        compiled = ckernels.pytensor.compile_pymc_model(model)
        return nutpie.sample(
            compiled, draws=draws, tune=draws, chains=2, seed=1, progress_bar=False
        )
    with model:
        return pm.sample(
            draws,
            tune=draws,
            chains=2,
            cores=1,
            backend="ckernels",
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        )


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--nutpie", action="store_true")
    options = parser.parse_args()
    model = radon(*data())
    start = time.perf_counter()
    function = model.logp_dlogp_function(ravel_inputs=True, mode="CKERNELS")
    function.set_extra_values({})
    point = np.zeros(sum(np.size(v) for v in model.initial_point().values()))
    function._pytensor_function(point)
    print(
        f"log-density and gradient compiled in {time.perf_counter() - start:.1f} s, "
        f"Python calls: {ckernels.pytensor.report(function._pytensor_function) or 'none'}"
    )
    start = time.perf_counter()
    posterior = sample(model, options.draws, options.nutpie).posterior
    print(f"2 chains of {options.draws} draws in {time.perf_counter() - start:.1f} s")
    for name, true in TRUE.items():
        found = posterior[name].values
        print(f"{name:13} {found.mean():6.3f} +- {found.std():.3f}   (drawn with {true})")
        assert abs(found.mean() - true) < 5 * found.std() + 0.05, name


if __name__ == "__main__":
    main()
