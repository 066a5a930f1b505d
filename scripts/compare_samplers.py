#!/usr/bin/env python3
"""Measures every discrete sampler on a 50x50 Ising lattice and on an RBM of 500 hidden units.

    scripts/compare_samplers.py OUT.md [--steps N] [--burn-in N] [--chains B] [--limit SECONDS]
                               [--threads T]

Uses build/isinglass and the Python of .venv; trains the RBM on the built-in strokes first. Step
sizes adapt in burn-in where a sampler can. ESS is the legacy ESS of the energy, mean over chains.
"""
import argparse
import json
import pathlib
import platform
import subprocess

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build" / "isinglass"
COLUMNS = ("sampler | settings | steps | acceptance | hops | ESS / step | ESS / evaluation | ESS / s "
           "(all chains) | steps / s")

DISCUSSION = "\n## What the tables show\n"


def ising(file, side=50, coupling=0.4406868):
    """Periodic lattice near its critical point."""
    site = torch.arange(side * side).view(side, side)
    pairs = [torch.stack([site.flatten(), site.roll(-1, axis).flatten()], 1) for axis in (0, 1)]
    edges = torch.cat(pairs)
    torch.save({"edges": edges, "coupling": torch.full([len(edges)], coupling),
                "field": torch.zeros(side * side)}, file)


def rbm(directory):
    command = ["train", "--dataset", "strokes", "--model", "rbm", "--hidden", "500", "--sampler",
               "pafs", "--radius", "20", "--steps-per-iter", "10", "--buffer", "500", "--iters", "1000",
               "--lr", "1e-3", "--warmup", "100", "--ema", "0.99", "--seed", "0", "--quiet",
               "--overwrite", "--out", str(directory)]
    subprocess.run([PROGRAM, *command], check=True, stdout=subprocess.DEVNULL)
    return directory / "ema.pt", "isinglass " + " ".join(command[:-4])


def sample(model, weights, sampler, arguments, shrink):
    """The summary of a run of 1/shrink of the steps, the message of the program, or None: too slow."""
    command = ["sample", "--model", model, "--weights", str(weights), "--sampler", sampler["name"],
               "--chains", str(arguments.chains), "--burn-in", str(arguments.burn_in // shrink),
               "--steps", str(arguments.steps // shrink), "--seed", "1", "--threads",
               str(arguments.threads), "--no-samples", "--json", "--quiet", "--overwrite", "--out",
               str(arguments.work / "sample")]
    if "adapt" in sampler["options"]:
        command.append("--adapt")
    try:
        done = subprocess.run([PROGRAM, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False, timeout=arguments.limit)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


def measure(model, weights, sampler, arguments):
    """A row; a sampler that does not finish in the limit of time makes a tenth of the steps."""
    for shrink in (1, 10):
        s = sample(model, weights, sampler, arguments, shrink)
        if s is not None:
            break
    empty = " |" * 7
    if s is None:
        return f"| `{sampler['name']}` | not done in {arguments.limit} s |" + empty
    if isinstance(s, str):
        return f"| `{sampler['name']}` | {s} |" + empty
    show = lambda value, digits=3: "undefined" if value is None else f"{value:.{digits}g}"
    settings = ", ".join(f"{name} {value:.3g}" for name, value in s["adapted"].items()) or "none"
    return (f"| `{sampler['name']}` | {settings} | {arguments.steps // shrink} | "
            f"{show(s['acceptance'])} | {show(s['hops'])} | {show(s['ess']['per_step'])} | "
            f"{show(s['ess']['per_evaluation'])} | {show(s['ess']['per_second_all'])} | "
            f"{show(s['steps_per_second'])} |")


def table(title, model, weights, samplers, arguments):
    print(title, flush=True)
    lines = [f"## {title}", "", f"| {COLUMNS} |", "|" + " --- |" * 9]
    for sampler in samplers:
        lines.append(measure(model, weights, sampler, arguments))
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--burn-in", type=int, default=5000)
    parser.add_argument("--chains", type=int, default=20)
    parser.add_argument("--limit", type=int, default=120, help="seconds for a sampler")
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
    processor = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                      if line.startswith("model name")), platform.processor())
    head = f"""# Discrete samplers compared

Written by `scripts/compare_samplers.py docs/results/samplers.md --chains {arguments.chains} --burn-in
{arguments.burn_in} --steps {arguments.steps} --limit {arguments.limit} --threads {arguments.threads}` on a {processor}, without a GPU.
{arguments.chains} chains, {arguments.burn_in} steps of burn-in (in which step sizes adapt), {arguments.steps} kept steps (a tenth of
both for a sampler that takes longer than {arguments.limit} s), one seed: differences below some ten per cent
mean nothing. ESS is the legacy ESS of the energy, mean over chains; where ESS / step times the
steps is not far above 1 the chains are too short for it, and the number is the least that the
formula gives. An evaluation is a model call a chain.

"""
    # What somebody wrote about the tables stays: it is to be read again, not to be lost.
    old = arguments.page.read_text(encoding="utf-8") if arguments.page.exists() else ""
    discussion = old[old.index(DISCUSSION):] if DISCUSSION in old else ""
    tables = [table("Ising lattice, 50x50, periodic, J = 0.4407 (critical)", "ising", lattice,
                    samplers, arguments),
              table("RBM, 784 visible and 500 hidden units, trained on strokes", "rbm", weights,
                    samplers, arguments)]
    arguments.page.write_text(head + tables[0] + "\n" + tables[1] +
                              f"\nThe RBM: `{training}`.\n" + discussion, encoding="utf-8")


if __name__ == "__main__":
    main()
