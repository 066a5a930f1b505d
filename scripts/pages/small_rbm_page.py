#!/usr/bin/env python3
"""Writes docs/results/small-rbm.md: an RBM of 20 hidden units on static MNIST beside the best of
five trainings that are twice as long. Its log-likelihoods are exact, by a sum over its 2^20 hidden
states.

    .venv/bin/python scripts/pages/small_rbm_page.py --data-dir DIR [--program FILE] [--threads N]

Runs are stored in runs/training/. A complete run is not repeated.
"""
import argparse
import json
import platform
from pathlib import Path

import torch

from training_page import ROOT, run

HIDDEN, SHORT, LONG = 20, 30000, 60000
FLAGS = (f"--model rbm --hidden {HIDDEN} --dataset static-mnist --sampler gibbs --scan chromatic "
         "--steps-per-iter 5 --buffer 1000 --batch 100 --warmup 100 --ema 0.999 --lr 2e-2 "
         "--lr-schedule linear")
BEHIND = 0.3  # largest allowed distance to the best long training [nats]


def states_of(units):
    return (torch.arange(1 << units)[:, None] >> torch.arange(units) & 1).double()


def log_z(w, b, c):
    """Returns log Σ_h exp(c·h) Π_i (1 + exp(b_i + (hᵀW)_i)) in float64. Half of the units are rows
    of a matrix product, the other half is a loop, which bounds the memory."""
    half = len(c) // 2
    inner, outer = states_of(half), states_of(len(c) - half)
    inputs, own = b + inner @ w[:half], inner @ c[:half]
    rows = [torch.logsumexp(torch.nn.functional.softplus(inputs + state @ w[half:]).sum(1) + own +
                            state @ c[half:], 0)
            for state in outer]
    return torch.logsumexp(torch.stack(rows), 0)


def log_likelihoods(weights, sets):
    found = torch.load(weights, weights_only=True)
    w, b, c = (found[key].double() for key in ("W", "b_v", "b_h"))
    z = log_z(w, b, c)
    return [(x @ b + torch.nn.functional.softplus(x @ w.T + c).sum(1) - z).mean().item()
            for x in sets]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--program", default=ROOT / "build/isinglass")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    from trajectory_page import images  # needs the package, which log Z does not

    torch.set_num_threads(options.threads)
    sets = [images(Path(options.data_dir), split).double() for split in ("train", "valid", "test")]
    rows, found = [], {}
    for iterations, seeds in ((SHORT, [0]), (LONG, range(1, 6))):
        for seed in seeds:
            out = ROOT / f"runs/training/small-rbm-{iterations}-{seed}"
            run("train", out, [*FLAGS.split(), "--iters", iterations, "--seed", seed], options)
            seconds = json.loads((out / "metrics.jsonl").read_text().splitlines()[-1])["seconds"]
            nats = log_likelihoods(out / "ema.pt", sets)
            found.setdefault(iterations, []).append(nats[-1])
            rows.append(f"| {iterations} | {seed} | {seconds / 60:.1f} | " +
                        " | ".join(f"{value:.2f}" for value in nats) + " |")
            print(rows[-1], flush=True)
    behind = max(found[LONG]) - found[SHORT][0]
    says = "within" if behind <= BEHIND else "not within"
    lines = "\n".join(rows)
    (ROOT / "docs/results/small-rbm.md").write_text(f"""# An RBM whose likelihood is known

This page tests training by persistent contrastive divergence on an RBM whose likelihood is exact:
with {HIDDEN} hidden units, log Z is the sum over 2^{HIDDEN} hidden states. The data are static
MNIST, and log-likelihoods are in nats an image.

| iterations | seed | minutes | train | validation | test |
| --- | --- | --- | --- | --- | --- |
{lines}

On test images the training of {SHORT} iterations is {abs(behind):.2f} nats
{"behind" if behind > 0 else "ahead of"} the best of five trainings of {LONG} iterations with other
seeds, which is {says} the aim of {BEHIND}. The five differ by up to
{max(found[LONG]) - min(found[LONG]):.1f} nats among themselves.

## How it was measured

`scripts/pages/small_rbm_page.py` wrote this page on {platform.machine()}, {options.threads} thread,
beside other work. It trains with

```
isinglass train {FLAGS} --iters N --seed SEED --data-dir DIR --out RUN
```

and sums over the hidden states in float64. The learning rate and the number of sweeps were chosen
in shorter trainings, which are not kept.
""", encoding="utf-8")


if __name__ == "__main__":
    main()
