#!/usr/bin/env python3
"""Times the steps of an RBM whose visible units are free, and with 90 % of them fixed.

    .venv/bin/python scripts/fixed_sites_speed.py [--program P] [--radii 3,5,8] [--repeats 5]

The RBM has 784 visible and 500 hidden units (weights/static-mnist-rbm500-110000.pt), 100 chains
sample it by pafs in one thread. A step's time is the difference of two runs' CPU times, of 200 and
4200 burn-in steps, divided by 4000; runs with and without fixed units take turns, and the least
time of the repeats counts. Prints a table in Markdown.
"""
import argparse
import os
import resource
import subprocess
import tempfile
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
WEIGHTS = ROOT / "weights/static-mnist-rbm500-110000.pt"
SHORT, LONG = 200, 4200


def cpu_seconds(command):
    """Runs a command and returns the CPU time that it took [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def step_time(program, radius, fixed, out):
    """Returns the time of a step [ms]."""
    times = [cpu_seconds([program, "sample", "--model", "rbm", "--weights", WEIGHTS, *fixed,
                          "--sampler", "pafs", "--radius", str(radius), "--burn-in", str(burn_in),
                          "--steps", "10", "--chains", "100", "--no-samples", "--threads", "1",
                          "--device", "cpu", "--seed", "1", "--quiet", "--overwrite", "--out", out])
             for burn_in in (SHORT, LONG)]
    return (times[1] - times[0]) / (LONG - SHORT) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/isinglass"))
    parser.add_argument("--radii", type=lambda text: [float(r) for r in text.split(",")],
                        default=[3, 5, 8])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    torch.manual_seed(1)
    known = (torch.rand(784) < 0.13).to(torch.int64)  # MNIST's share of pixels that are on
    known[torch.randperm(784)[:78]] = -1
    print("| mean moves | all units free [ms] | 90 % fixed [ms] | ratio |")
    print("| ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        torch.save(known, os.path.join(folder, "known.pt"))
        for radius in options.radii:
            whole, part = [], []
            for _ in range(options.repeats):
                out = os.path.join(folder, "run")
                whole.append(step_time(options.program, radius, [], out))
                part.append(step_time(options.program, radius,
                                      ["--fixed", os.path.join(folder, "known.pt")], out))
            print(f"| {radius:g} | {min(whole):.2f} | {min(part):.2f} | "
                  f"{min(whole) / min(part):.1f} |", flush=True)


if __name__ == "__main__":
    main()
