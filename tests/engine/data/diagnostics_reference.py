"""Reference values of the diagnostics in ../diagnostics_test.cpp, by ArviZ and TensorFlow
Probability.

Made once, with: pip install torch "arviz==0.22.0" "tensorflow-probability[jax]==0.25.0"
"jax==0.4.38" and: python diagnostics_reference.py diagnostics_reference.pt
The file holds, for every case NAME, NAME.series float64 [N, B]; NAME.arviz float64 [3]: bulk ESS,
tail ESS, R̂; NAME.tfp float64 [B]: effective_sample_size of every chain, with its defaults.
"""
import sys

import arviz
import jax
import numpy as np
import torch

jax.config.update("jax_enable_x64", True)
from tensorflow_probability.substrates import jax as tfp  # noqa: E402


def ar1(rng, draws, chains, rho):
    x = rng.standard_normal((draws, chains))
    x[0] /= np.sqrt(1 - rho**2)
    for t in range(1, draws):
        x[t] += rho * x[t - 1]
    return x


def cases():
    rng = np.random.default_rng(20240501)
    yield "independent", ar1(rng, 200, 4, 0.0)
    yield "slow", ar1(rng, 301, 3, 0.9)
    yield "alternating", ar1(rng, 150, 4, -0.6)
    yield "apart", ar1(rng, 120, 4, 0.5) + np.array([0.0, 0.0, 1.0, 2.0])
    yield "heavy", rng.standard_cauchy((160, 4))
    yield "tied", np.round(2 * ar1(rng, 180, 4, 0.7))
    yield "single", ar1(rng, 257, 1, 0.8)


def main():
    tensors = {}
    for name, series in cases():
        chains = series.T
        tensors[name + ".series"] = series
        tensors[name + ".arviz"] = np.array([arviz.ess(chains, method="bulk"),
                                             arviz.ess(chains, method="tail"),
                                             arviz.rhat(chains)])
        tensors[name + ".tfp"] = np.asarray(tfp.mcmc.effective_sample_size(series))
        print(name, tensors[name + ".arviz"], tensors[name + ".tfp"])
    torch.save({key: torch.tensor(value) for key, value in tensors.items()}, sys.argv[1])


if __name__ == "__main__":
    main()
