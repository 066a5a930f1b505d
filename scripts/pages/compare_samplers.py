#!/usr/bin/env python3
"""Measures every discrete sampler on a 50x50 Ising lattice and on an RBM of 500 hidden units.

    scripts/pages/compare_samplers.py OUT.md [--seconds S] [--most N] [--chains B] [--threads T]

Every sampler gets the same time; a short pilot run measures how many steps fit into it. The script
uses build/isinglass and the Python of .venv, and first trains the RBM on the built-in strokes. Step
sizes adapt in burn-in where a sampler supports it. ESS is that of the energy by the estimator of
the papers (the default of TensorFlow Probability), averaged over chains.
"""
import argparse
import json
import pathlib
import platform
import subprocess

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "isinglass"
COLUMNS = ("sampler | settings | burn-in | steps | acceptance | hops | ESS / step | "
           "ESS / evaluation | ESS / s (all chains) | R-hat | steps / s")
BURN_IN = 0.3  # share of the time of a sampler
DRAWS = 20000  # largest number of draws kept of a chain


def ising(file, side=50, coupling=0.4406868):
    """Writes a periodic lattice near its critical point."""
    site = torch.arange(side * side).view(side, side)
    pairs = [torch.stack([site.flatten(), site.roll(-1, axis).flatten()], 1) for axis in (0, 1)]
    edges = torch.cat(pairs)
    torch.save({"edges": edges, "coupling": torch.full([len(edges)], coupling),
                "field": torch.zeros(side * side)}, file)


def rbm(directory):
    command = ["train", "--dataset", "strokes", "--model", "rbm", "--hidden", "500", "--sampler",
               "pafs", "--radius", "20", "--steps-per-iter", "10", "--buffer", "500", "--iters",
               "1000",
               "--lr", "1e-3", "--warmup", "100", "--ema", "0.99", "--seed", "0", "--quiet",
               "--overwrite", "--out", str(directory)]
    if not (directory / "ema.pt").exists():  # trained by an earlier run of this script
        subprocess.run([PROGRAM, *command], check=True, stdout=subprocess.DEVNULL)
    return directory / "ema.pt", "isinglass " + " ".join(command[:-4])


def sample(model, weights, sampler, arguments, burn_in, steps):
    """Returns the summary of a run, the error message of the program, or None if it exceeds four
    times its time."""
    command = ["sample", "--model", model, "--weights", str(weights), "--sampler", sampler["name"],
               "--chains", str(arguments.chains), "--burn-in", str(burn_in), "--steps", str(steps),
               "--thin", str(max(1, steps // DRAWS)), "--seed", "1", "--threads",
               str(arguments.threads), "--no-samples", "--json", "--quiet", "--overwrite", "--out",
               str(arguments.work / "sample")]
    command += sampler.get("flags", [])
    if "adapt" in sampler["options"]:
        command.append("--adapt")
    try:
        done = subprocess.run([PROGRAM, *command], capture_output=True, text=True, check=False,
                              timeout=4 * arguments.seconds)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


def show(value):
    return "undefined" if value is None else f"{value:.3g}"


def measure(model, weights, sampler, arguments):
    """Returns a row of the table. The row states it if the pilot or the burn-in takes too long."""
    s = sample(model, weights, sampler, arguments, 100, 100)
    burn_in = steps = 0
    for share in (1, 0.25):  # a step of burn-in may cost more than the pilot shows
        if not isinstance(s, dict):
            break
        fitting = share * arguments.seconds * s["steps_per_second"]
        burn_in = max(100, min(arguments.most, int(BURN_IN * fitting)))
        steps = max(100, min(arguments.most, int((1 - BURN_IN) * fitting)))
        done = sample(model, weights, sampler, arguments, burn_in, steps)
        if done is not None:
            s = done
            break
    else:
        s = None
    empty = " |" * 9
    name = " ".join([sampler["name"], *sampler.get("flags", [])])
    if s is None:
        return f"| `{name}` | not done in {4 * arguments.seconds} s |" + empty
    if isinstance(s, str):
        return f"| `{name}` | {s} |" + empty
    settings = ", ".join(f"{name} {value:.3g}" for name, value in s["adapted"].items()) or "none"
    return (f"| `{name}` | {settings} | {burn_in} | {steps} | "
            f"{show(s['acceptance'])} | {show(s['hops'])} | {show(s['ess']['per_step'])} | "
            f"{show(s['ess']['per_evaluation'])} | {show(s['ess']['per_second_all'])} | "
            f"{show(s['rhat'])} | {show(s['steps_per_second'])} |")


def table(title, model, weights, samplers, arguments):
    print(title, flush=True)
    lines = [f"## {title}", "", f"| {COLUMNS} |", "|" + " --- |" * 11]
    for sampler in samplers:
        lines.append(measure(model, weights, sampler, arguments))
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=60, help="for a sampler, burn-in included")
    parser.add_argument("--most", type=int, default=200000, help="steps, of burn-in and after it")
    parser.add_argument("--chains", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "runs" / "compare")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    listing = json.loads(subprocess.run([PROGRAM, "sample", "--list", "--json"], check=True,
                                        stdout=subprocess.PIPE).stdout)
    samplers = [s for s in listing["samplers"] if "binary" in s["states"]]
    lattice = arguments.work / "ising.pt"
    ising(lattice)
    weights, training = rbm(arguments.work / "rbm")
    cpu_lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    processor = next((line.split(":")[1].strip()
                      for line in cpu_lines if line.startswith("model name")),
                     platform.processor())
    head = """# Discrete samplers compared

This page compares all discrete samplers on a critical lattice and on an RBM, in equal time. [The
discussion](samplers-discussion.md) is written by hand: revise it when the tables change.

Where R-hat is far above 1.01 the chains are too short for the target, and the ESS, which is
computed for each chain by itself, is too large. *Hops* are the sites changed per step. An
evaluation is one model call per chain. *Not done* means that a sampler exceeded four times its
time.

"""
    tail = f"""
## How it was measured

`scripts/pages/compare_samplers.py docs/results/samplers.md --seconds {arguments.seconds} \
--most {arguments.most} --chains {arguments.chains} --threads {arguments.threads}`
wrote this page on a {processor}, without a GPU. Every sampler has {arguments.seconds} s, as
estimated by a pilot run, and at most {arguments.most} steps. Three tenths of the time are burn-in,
in which step sizes adapt. There are {arguments.chains} chains and one seed: differences below about
ten per cent mean nothing. ESS is that of the energy by the estimator of the papers (the default of
TensorFlow Probability), averaged over chains.

The RBM was trained by `{training}`.
"""
    sweeps = [{"name": "gibbs", "options": {}, "flags": ["--scan", "chromatic"]}]
    tables = [table("Ising lattice, 50x50, periodic, J = 0.4407 (critical)", "ising", lattice,
                    sweeps + samplers, arguments),
              table("RBM, 784 visible and 500 hidden units, trained on strokes", "rbm", weights,
                    sweeps + samplers, arguments)]
    arguments.page.write_text(head + tables[0] + "\n" + tables[1] + tail, encoding="utf-8")


if __name__ == "__main__":
    main()
