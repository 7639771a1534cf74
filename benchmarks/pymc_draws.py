"""Draws of PyMC's samplers, of Bambi and pymc-bart in our mode, beside another mode of PyTensor.

    python -m benchmarks.pymc_draws [program ...] [--beside FAST_COMPILE] [--draws 25]

Both modes get one model and one seed. A row has the greatest difference of the first draw, of
those of tuning and of all, relative where numbers are above 1, and the processor time of both,
compilation included. Last bits grow from draw to draw in samplers that follow gradients. Bambi and
pymc-bart are needed by their programs alone.
"""

import argparse
import logging
import time
import warnings

import numpy as np

QUIET = {"progressbar": False, "compute_convergence_checks": False}
SEED = 3


def hierarchical(pm):
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(6), 8)
    data = rng.normal(rng.normal(size=6)[group], 0.7)
    with pm.Model(coords={"group": range(6)}) as model:
        mu, tau = pm.Normal("mu", 0, 1), pm.HalfNormal("tau", 1)
        means = pm.Normal("means", mu, tau, dims="group")
        pm.Normal("y", means[group], pm.HalfNormal("sigma", 1), observed=data)
    return model


def discrete(pm):
    with pm.Model() as model:
        flags, kind = pm.Bernoulli("flags", 0.4, shape=5), pm.Categorical("kind", [0.2, 0.3, 0.5])
        mean = pm.Normal("mu", 0, 1) + flags.sum() + kind + pm.Poisson("count", 3)
        pm.Normal("y", mean, 1, observed=[5.0, 6, 7])
    return model


def trees(pm):
    import pymc_bart

    rng = np.random.default_rng(2)
    x = rng.normal(size=(50, 3))
    y = np.sin(x[:, 0]) + 0.2 * rng.normal(size=50)
    with pm.Model() as model:
        pm.Normal("y", pymc_bart.BART("mu", x, y, m=8), pm.HalfNormal("sigma", 1), observed=y)
    return model


def arrays(group):
    """{name: array of chains, draws and the rest} of a group of inference data."""
    return {name: np.asarray(group[name].values) for name in group.data_vars}


def all_draws(trace):
    tuning, rest = arrays(trace["warmup_posterior"]), arrays(trace["posterior"])
    return {name: np.concatenate([tuning[name], rest[name]], 1) for name in rest}


def sampled(build, step=None, chains=2, **more):
    """A program that draws from a model with `pm.sample`, with a step method by name."""

    def program(pm, mode, draws):
        with build(pm):
            how = {"compile_kwargs": {"mode": mode}}
            if step is None:
                how["nuts_sampler"] = "pymc"
            else:
                how["step"] = getattr(pm, step)(**how)
            trace = pm.sample(
                draws,
                tune=draws,
                chains=chains,
                cores=more.get("cores", 1),
                random_seed=SEED,
                mp_ctx=more.get("mp_ctx"),
                discard_tuned_samples=False,
                **how,
                **QUIET,
            )
        return all_draws(trace)

    return program


def smc(pm, mode, draws):
    with hierarchical(pm):
        trace = pm.sample_smc(
            2 * draws, chains=2, cores=1, random_seed=SEED, compile_kwargs={"mode": mode}, **QUIET
        )
    return arrays(trace["posterior"])


def fitted(method):
    def program(pm, mode, draws):
        with hierarchical(pm):
            fit = pm.fit(
                8 * draws,
                method=method,
                random_seed=SEED,
                progressbar=False,
                fn_kwargs={"mode": mode},
            )
        return {"loss": fit.hist[None], "mean": fit.mean.eval(), "std": fit.std.eval()}

    return program


def predictions(pm, mode, draws):
    """Prior and posterior predictive, log-likelihood and log-prior of another mode's draws."""
    how = {"compile_kwargs": {"mode": mode}}
    with hierarchical(pm):
        trace = pm.sample(
            draws,
            tune=draws,
            chains=2,
            cores=1,
            random_seed=SEED,
            nuts_sampler="pymc",
            compile_kwargs={"mode": "FAST_COMPILE"},
            **QUIET,
        )
        prior = pm.sample_prior_predictive(draws, random_seed=SEED, **how)
        how["progressbar"] = False
        posterior = pm.sample_posterior_predictive(trace, random_seed=SEED, **how)
        groups = {
            "prior": prior["prior_predictive"],
            "posterior": posterior["posterior_predictive"],
            "likelihood": pm.compute_log_likelihood(trace, extend_inferencedata=False, **how),
            "log-prior": pm.compute_log_prior(trace, extend_inferencedata=False, **how),
        }
    return {f"{what}: {n}": a for what, group in groups.items() for n, a in arrays(group).items()}


RESPONSES = {
    "gaussian": lambda rng, eta: eta + 0.3 * rng.normal(size=len(eta)),
    "bernoulli": lambda rng, eta: (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(int),
    "poisson": lambda rng, eta: rng.poisson(np.exp(eta)),
    "gamma": lambda rng, eta: rng.gamma(2, np.exp(eta)),
    "negativebinomial": lambda rng, eta: rng.poisson(np.exp(eta)),
    "t": lambda rng, eta: eta + rng.standard_t(3, size=len(eta)),
    "beta": lambda rng, eta: np.clip(
        1 / (1 + np.exp(-eta - rng.normal(size=len(eta)))), 0.01, 0.99
    ),
}


def formula(text, family, **options):
    """A program that fits a formula of Bambi's."""

    def program(pm, mode, draws):
        import bambi
        import pandas

        rng, n = np.random.default_rng(2), 60
        data = pandas.DataFrame(
            {"x": rng.normal(size=n), "z": rng.normal(size=n), "g": rng.choice(list("abcd"), n)}
        )
        data["y"] = RESPONSES[family](rng, 0.5 * data.x + 0.3)
        model = bambi.Model(text, data, family=family, **options)
        model.build()
        trace = model.fit(
            draws=draws,
            tune=draws,
            chains=1,
            cores=1,
            random_seed=SEED,
            compile_kwargs={"mode": mode},
            discard_tuned_samples=False,
            **QUIET,
        )
        return all_draws(trace)

    return program


PROGRAMS = {
    "SMC": smc,
    "Slice": sampled(hierarchical, "Slice"),
    "Metropolis": sampled(hierarchical, "Metropolis"),
    "DEMetropolisZ": sampled(hierarchical, "DEMetropolisZ", chains=4),
    "discrete variables": sampled(discrete),
    "NUTS": sampled(hierarchical),
    "NUTS in spawned processes": sampled(hierarchical, cores=2, mp_ctx="spawn"),
    "HamiltonianMC": sampled(hierarchical, "HamiltonianMC"),
    "ADVI": fitted("advi"),
    "full-rank ADVI": fitted("fullrank_advi"),
    "predictions": predictions,
    "pymc-bart": sampled(trees, chains=1),
    "Bambi: gaussian": formula("y ~ x + z", "gaussian"),
    "Bambi: gaussian with groups": formula("y ~ x + (1 + x | g)", "gaussian"),
    "Bambi: bernoulli": formula("y ~ x * z", "bernoulli"),
    "Bambi: poisson": formula("y ~ x + (1 | g)", "poisson"),
    "Bambi: gamma": formula("y ~ x", "gamma", link="log"),
    "Bambi: negative binomial": formula("y ~ x + C(g)", "negativebinomial"),
    "Bambi: Student's t of a spline": formula("y ~ bs(x, df=4)", "t"),
    "Bambi: beta": formula("y ~ x", "beta"),
    "Bambi: a Gaussian process": formula("y ~ hsgp(x, m=6, c=1.5)", "gaussian"),
}


def difference(one, two):
    scale = np.maximum(1, np.abs(two))
    return float(np.max(np.abs(np.asarray(one, float) - two) / scale, initial=0))


def row(pm, name, beside, draws):
    """Differences of the first draw, of those of tuning and of all; seconds of ours and theirs."""
    found, seconds = [], []
    for mode in ("CKERNELS", beside):
        start = time.process_time()
        found.append(PROGRAMS[name](pm, mode, draws))
        seconds.append(time.process_time() - start)
    ours, theirs = found
    assert ours.keys() == theirs.keys()
    chains = [k for k in ours if np.ndim(ours[k]) > 1]
    parts = [[difference(ours[k][:, :n], theirs[k][:, :n]) for k in chains] for n in (1, draws)]
    whole = [difference(ours[k], theirs[k]) for k in ours]
    return *map(max, (*parts, whole)), *seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", metavar="program", help="beginnings of names")
    parser.add_argument("--beside", default="FAST_COMPILE", help="PyTensor's mode")
    parser.add_argument("--draws", type=int, default=25, help="after as many of tuning")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    import pymc as pm

    import ckernels.pytensor  # noqa: F401

    for library in ("pymc", "bambi"):
        logging.getLogger(library).setLevel(logging.ERROR)
    tuning = f"first {asked.draws}"
    print(
        f"| PyMC {pm.__version__} | first draw | {tuning} | all | ckernels: s | {asked.beside}: s |"
    )
    print("|---|---|---|---|---|---|")
    for name in PROGRAMS:
        if not asked.programs or name.lower().startswith(tuple(p.lower() for p in asked.programs)):
            *differences, ours, theirs = row(pm, name, asked.beside, asked.draws)
            cells = [f"{d:.1g}" for d in differences] + [f"{ours:.1f}", f"{theirs:.1f}"]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
