#!/usr/bin/env python3
"""Writes docs/results/tempering.md: plain chains beside parallel tempering, one run each.

    .venv/bin/python scripts/pages/tempering_page.py [PROGRAM] [PART…] [--data-dir DIR]
        [--gwg FOLDER]

PART: lattice, cut, rbm, network, schedules, cost (default: all). Parts that are not named stay on
the page as they are. Each takes minutes to an hour on one core. Rates use processor time, so that
other work does not count. --gwg is a checkout of https://github.com/wgrathwohl/GWG_release, whose
block Gibbs sweeps are then measured beside those of the RBM.
"""
import argparse
import importlib
import json
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import arviz
import torch

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/results/tempering.md"
SIDE, VERTICES, EDGES, SHARPNESS = 50, 800, 19176, 4


def processor_seconds():
    """Returns the processor time of all commands that have ended [s]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Runs:
    """Runs commands of the program and records them."""

    def __init__(self, given, folder):
        self.program, self.data, self.gwg, self.folder, self.commands = (
            given.program, given.data_dir, given.gwg, folder, [])

    def run(self, subcommand, arguments, *hidden):
        """Runs a command and returns its JSON output. The page shows the command without the hidden
        options."""
        self.commands.append(f"isinglass {subcommand} {arguments}")
        command = [self.program, subcommand, *arguments.split(), "--threads", "1", "--device",
                   "cpu", "--json", "--quiet"]
        command = [str(self.folder / word) if word in INPUTS else word for word in command]
        done = subprocess.run([*command, *hidden], cwd=ROOT, capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise SystemExit(f"{arguments}\n{done.stderr}")
        return json.loads(done.stdout)

    def sample(self, arguments, name):
        """Returns the summary of a run, with its wall time and the processor time after burn-in
        [s], and its directory."""
        out = self.folder / name
        data = ["--data-dir", self.data] if "--dataset" in arguments.split() else []
        start, before = time.perf_counter(), processor_seconds()
        summary = self.run("sample", arguments, *data, "--out", str(out), "--overwrite")
        # All steps are assumed to take the same time.
        counted = summary["steps"] / (summary["steps"] + summary["burn_in"])
        return summary | {"wall": time.perf_counter() - start,
                          "seconds": counted * (processor_seconds() - before)}, out


RBM = "weights/static-mnist-rbm500.pt"
RESNET = "weights/static-mnist-resnet16.pt"
INPUTS = ("graph.txt", "states.pt", "torus.pt")


def table(columns, rows):
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n\n"


def pace(summary):
    """Returns cells: seconds, R-hat, bulk ESS of all draws, and bulk ESS per second if the chains
    have converged."""
    rhat, bulk, seconds = summary["rhat"], summary["ess"]["bulk"], summary["seconds"]
    rate = f"{bulk / seconds:.3g}" if rhat < 1.01 else "not converged"
    return [f"{seconds:.0f}", f"{rhat:.3f}", f"{bulk:.0f}", rate]


def trips(summary):
    tempering = summary.get("tempering")
    return f"{tempering['round_trips']:.3g}" if tempering else ""


PACE = ["processor seconds", "R̂", "bulk ESS", "bulk ESS per second"]


def lattice(runs):
    """Measures mixing between the signs of the magnetisation below the critical temperature."""
    model = (f"--instance ising-grid:side={SIDE},coupling=0.6,periodic=1 --sampler gibbs "
             "--scan chromatic --statistic sum")
    rows = []
    for name, how in (("sweeps", "--chains 448 --burn-in 4000 --steps 80000 --thin 40"),
                      ("56 rungs", "--rungs 56 --chains 8 --burn-in 8000 --steps 80000 --thin 40")):
        summary, out = runs.sample(f"{model} {how}", "lattice")
        x = torch.load(out / "samples.pt", weights_only=True)["samples"].double().mean(2) > 0.5
        share = x.double().mean(0)
        crossed = ((share > 0) & (share < 1)).double().mean()
        error = share.std() / len(share) ** 0.5
        rows.append([name, *pace(summary), trips(summary), f"{100 * crossed:.0f} %",
                     f"{share.mean():.2f} ± {error:.2f}"])
    return (table(["", *PACE, "round trips an ensemble", "both signs", "sign +"], rows)
            + f"The target is an Ising torus, {SIDE} × {SIDE}, J = 0.6, below the critical "
            "temperature. R̂ and ESS are of the\n"
            "magnetisation. The last columns give the share of chains, or ensembles, that had both "
            "signs, and the\n"
            "share of draws with positive magnetisation.\n\n")


def graph(folder):
    generator = torch.Generator().manual_seed(1)
    number = torch.randperm(VERTICES * (VERTICES - 1) // 2, generator=generator)[:EDGES]
    pairs = torch.triu_indices(VERTICES, VERTICES, 1)[:, number].t().tolist()
    (folder / "graph.txt").write_text("".join(f"{a} {b} {SHARPNESS}\n" for a, b in pairs))


def cut(runs):
    """Measures the best cut that annealing and tempering find in equal time."""
    graph(runs.folder)
    model = "--model maxcut --weights graph.txt --sampler gibbs --scan chromatic --no-samples"
    rows = []
    for seed in range(3):
        tempered, _ = runs.sample(f"{model} --rungs 24 --chains 8 --burn-in 500 "
                                  f"--steps 2000 --seed {seed}", "cut")
        pilot, _ = runs.sample(f"{model} --chains 192 --anneal {10 * SHARPNESS},1 --burn-in 250 "
                               f"--steps 1 --seed {seed}", "cut")
        steps = int(250 * tempered["wall"] / pilot["wall"])
        cooled, _ = runs.sample(f"{model} --chains 192 --anneal {10 * SHARPNESS},1 "
                                f"--burn-in {steps} --steps 1 --seed {seed}", "cut")
        best = [f"{summary['best']['value'] / SHARPNESS:.0f} in {summary['wall']:.0f} s"
                for summary in (cooled, tempered)]
        rows.append([str(seed), *best])
    return (table(["seed", "best cut by `--anneal`", "best cut by `--rungs`"], rows)
            + f"Maximum cut of a random graph of {VERTICES} vertices and {EDGES} edges. The table "
            "gives the best cut\n"
            "that 192 annealed chains find, and 8 ensembles of 24 rungs down to the temperature "
            f"1/{SHARPNESS}. Times\n"
            "include the start and burn-in.\n\n")


def published_sweeps(checkout, burn_in, sweeps, thin):
    """Runs block Gibbs sweeps of GWG_release's BernoulliRBM and returns a summary like that of our
    runs."""
    sys.path.insert(0, checkout)
    with mock.patch.dict(sys.modules, {name: mock.MagicMock() for name in ("igraph", "tqdm")}):
        theirs = importlib.import_module("rbm").BernoulliRBM(784, 500)
    torch.set_num_threads(1)
    theirs.load_state_dict(torch.load(ROOT / RBM, weights_only=True))
    with torch.no_grad():
        x = theirs.gibbs_sample(v=torch.bernoulli(torch.full((100, 784), 0.5)), n_steps=burn_in)
        energies, seconds = [], 0.0
        for _ in range(sweeps // thin):
            start = time.process_time()
            x = theirs.gibbs_sample(v=x, n_steps=thin)
            seconds += time.process_time() - start
            energies.append(-theirs(x))
    draws = torch.stack(energies, 1).double().numpy()  # [chains, draws]
    return {"rhat": float(arviz.rhat(draws, method="rank")), "seconds": seconds,
            "ess": {"bulk": float(arviz.ess(draws, method="bulk"))}}


def rbm(runs):
    """Measures block Gibbs sweeps alone, on a whole ladder, and on parts of a ladder."""
    model = f"--model rbm --weights {RBM} --sampler gibbs --scan chromatic --no-samples"
    rows = []
    if runs.gwg:
        rows.append(["GWG_release's sweeps", *pace(published_sweeps(runs.gwg, 15000, 720000, 720)),
                     ""])
    for name, how in (("sweeps", "--chains 100 --burn-in 15000 --steps 720000 --thin 720"),
                      ("24 rungs, from 0",
                       "--rungs 24 --chains 8 --burn-in 8000 --steps 80000 --thin 80"),
                      ("12 rungs, from 0.5", "--rungs 12 --lowest-beta 0.5 --chains 16 "
                                             "--burn-in 8000 --steps 80000 --thin 80"),
                      ("6 rungs, from 0.8", "--rungs 6 --lowest-beta 0.8 --chains 32 "
                                            "--burn-in 8000 --steps 80000 --thin 80")):
        summary, _ = runs.sample(f"{model} {how}", "rbm")
        rows.append([name, *pace(summary), trips(summary)])
    return (table(["", *PACE, "round trips an ensemble"], rows)
            + "The target is the shipped RBM of 500 hidden units, trained on static MNIST. R̂ and "
            "ESS are of the free\n"
            "energy. \"From\" names the lowest β of a ladder.\n\n")


def network(runs):
    """Measures whether chains from digits and chains from noise agree, by R-hat."""
    weights = f"--model resnet --weights {RESNET}"
    _, digits = runs.sample(f"{weights} --sampler pafs --radius 8 --chains 32 --steps 1 "
                            "--init data --dataset static-mnist", "digits")
    states = torch.load(digits / "samples.pt", weights_only=True)["samples"][-1]
    noise = torch.randint(0, 2, states.shape, generator=torch.Generator().manual_seed(2),
                          dtype=torch.uint8)
    torch.save(torch.stack([states, noise], 1).flatten(0, 1), runs.folder / "states.pt")
    rows = []
    for name, how in (("64 chains", "--burn-in 10000 --steps 60000 --thin 60"),
                      ("18 rungs",
                       "--rungs 18 --chains 10 --adapt --burn-in 5000 --steps 20000 --thin 10")):
        init = "" if "--rungs" in how else "--init states.pt"
        summary, _ = runs.sample(
            f"{weights} --sampler pafs --radius 8 --no-samples {how} {init}".strip(), "network")
        rows.append([name, *pace(summary), trips(summary)])
    return (table(["", *PACE, "round trips an ensemble"], rows)
            + "The target is the shipped ResNet-16. Half of the plain chains begin at digits and "
            "half in noise; R̂ of the\n"
            "energy shows whether they agree.\n\n")


def torus(folder):
    site = torch.arange(SIDE * SIDE).view(SIDE, SIDE)
    edges = torch.cat([torch.stack([site.flatten(), site.roll(-1, axis).flatten()], 1)
                       for axis in (0, 1)])
    torch.save({"edges": edges, "coupling": torch.full([len(edges)], 0.6),
                "field": torch.zeros(SIDE * SIDE)},
               folder / "torus.pt")


ISING = "--model ising --weights torus.pt"
COSTS = {"Ising, chromatic sweeps, 24 rungs × 10": f"{ISING} --sampler gibbs --scan chromatic "
                                                   "--rungs 24 --chains 240 --burn-in 200",
         "Ising, chromatic sweeps, 56 rungs × 8":
             f"{ISING} --sampler gibbs --scan chromatic --rungs 56 --chains 448 --burn-in 200",
         "Ising, `pafs`, 20 rungs × 5": f"{ISING} --sampler pafs --radius 5 --rungs 20 "
                                        "--chains 100 --burn-in 200",
         "Ising, `gwg`, 20 rungs × 5": f"{ISING} --sampler gwg --rungs 20 "
                                       "--chains 100 --burn-in 200",
         "Ising, `pafs`, 20 rungs × 5, 10 steps a scan":
             f"{ISING} --sampler pafs --radius 5 --rungs 20 --chains 100 "
             "--exploration 10 --burn-in 200",
         "Ising, `gwg`, 20 rungs × 5, 100 steps a scan":
             f"{ISING} --sampler gwg --rungs 20 --chains 100 --exploration 100 --burn-in 200",
         "RBM-500, block Gibbs sweeps, 24 rungs × 10":
             f"--model rbm --weights {RBM} --sampler gibbs --scan chromatic --rungs 24 "
             "--chains 240 --burn-in 200",
         "RBM-500, `pafs`, 24 rungs × 10":
             f"--model rbm --weights {RBM} --sampler pafs --radius 5 --rungs 24 "
             "--chains 240 --burn-in 200",
         "ResNet-64 (new weights), `pafs`, 12 rungs × 8":
             "--model resnet --channels 64 --sampler pafs --radius 8 --rungs 12 "
             "--chains 96 --repeats 5"}


def cost(runs):
    """Measures a scan beside a step of the same number of plain chains, in turn in one process."""
    torus(runs.folder)
    rows = []
    for name, how in COSTS.items():
        repeats = "" if "--repeats" in how else " --repeats 15"
        stages = runs.run("bench", f"--stages step,scan {how}{repeats}")["stages"]
        step, scan = (stage["milliseconds"]["median"] for stage in stages)
        explored = int((re.findall(r"--exploration (\d+)", how) or [1])[0])
        rows.append([name, f"{explored * step:.3g}", f"{scan:.3g}",
                     f"{scan / (explored * step):.2f}"])
    return (table(["", "steps, ms", "scan, ms", "ratio"], rows)
            + "The table compares a scan of R rungs × C ensembles with as many steps of R·C plain "
            "chains (one step,\n"
            "unless the row says more). Times are medians of measurements in turn. A step of `gwg` "
            "or `pafs` on a\n"
            "lattice reads a few of 2500 sites, but after a swap a chain must compute the "
            "weights of all sites\n"
            "again. Such samplers therefore need more steps a scan (`--exploration`).\n"
            "[The cost of a scan](../concepts/tempering.md#what-a-scan-costs) lists what "
            "a scan adds.\n\n")


def held_log_z(weights):
    """Returns the estimate of log Z from both ends on the card of shipped weights."""
    card = (ROOT / weights).with_suffix(".md").read_text(encoding="utf-8")
    return float(re.search(r"^both: (-?[\d.]+) ±", card, flags=re.M)[1])


ANNEALINGS = {"RBM-500, sweeps": (f"--model rbm --weights {RBM} --chains 100 --steps 3000", 8),
              "ResNet-16, `pafs`":
                  (f"--model resnet --weights {RESNET} --sampler pafs --radius 8 "
                   "--chains 60 --steps 4000", 4)}


def schedules(runs):
    """Measures forward annealing by the three schedules; times include the pilot of the adaptive
    one."""
    rows = []
    for name, (how, seeds) in ANNEALINGS.items():
        truth = held_log_z(how.split()[3])
        for schedule in ("linear", "sigmoid", "adaptive"):
            before = processor_seconds()
            found = [runs.run("evaluate", f"{how} --dataset static-mnist --schedule {schedule}",
                              "--seed", str(seed), "--data-dir", runs.data, "--out",
                              str(runs.folder / "evaluation"), "--overwrite")
                     for seed in range(seeds)]
            seconds = (processor_seconds() - before) / seeds
            off = torch.tensor([run["log_z"] - truth for run in found])
            ess = torch.tensor([run["weight_ess"] for run in found])
            rows.append([name, schedule, f"{seconds:.0f}", f"{off.mean():+.2f}",
                         f"{off.square().mean().sqrt():.2f}",
                         f"{ess.mean():.1f} ({ess.min():.1f} to {ess.max():.1f})", str(seeds)])
    return (table(["", "schedule", "processor seconds", "mean error of log Z, nats",
                   "r.m.s. error, nats", "weight ESS", "seeds"], rows)
            + "Forward annealing with the same number of steps for all schedules. Errors are "
            "relative to the\n"
            "estimate of log Z from both ends on the card of the weights. Weight ESS is the mean "
            "(least to most)\n"
            "over the seeds, which count from 0. Seconds are those of one run, with its start, "
            "the pilot of the\n"
            "adaptive schedule and the energies of the images.\n\n")


PARTS = {"lattice": (lattice, "A cold lattice"), "cut": (cut, "A cut"),
         "rbm": (rbm, "A restricted Boltzmann machine"), "network": (network, "A deep network"),
         "schedules": (schedules, "Schedules of annealing"), "cost": (cost, "What a scan costs")}


def sections():
    """Returns the text under each heading of the present page."""
    _, *parts = re.split(r"^## (.*)\n", PAGE.read_text(encoding="utf-8") if PAGE.exists() else "",
                         flags=re.M)
    return dict(zip(parts[::2], parts[1::2]))


def write(found):
    """Writes the page from the parts in `found`."""
    text = """# When tempering pays

This page compares parallel tempering with plain chains, annealing schedules with each other, and
the cost of a scan with that of a step. [The page on tempering](../concepts/tempering.md) explains
ladders, rungs and ensembles.

Tempering pays on the cold lattice, where plain sweeps do not converge in equal time. On the RBM
plain sweeps give more ESS per second. On the cut, annealing and tempering find the same value to
one edge. On the ResNet neither has converged in twelve minutes. log Z is closest with the adaptive
schedule on the RBM and with the linear one on the ResNet. This paragraph is written by hand: revise
it when the tables change.

Bulk ESS is rank-normalised and of all chains or ensembles together. ESS per second counts the
processor time of all rungs after burn-in; it is stated where R̂ is below 1.01. Each section ends
with its machine and commands. `.venv/bin/python scripts/pages/tempering_page.py build/isinglass`
wrote the page.

"""
    for _, title in PARTS.values():
        if title in found:
            text += f"## {title}\n\n{found[title].strip()}\n\n"
    PAGE.write_text(text.rstrip() + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="?", default=str(ROOT / "build/isinglass"))
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--data-dir", default="data")
    parser.add_argument("--gwg", metavar="FOLDER")
    arguments = parser.parse_args()
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    version = subprocess.run([arguments.program, "--version"], capture_output=True, text=True,
                             check=True).stdout.strip()
    found = sections()
    with tempfile.TemporaryDirectory() as name:
        for part in arguments.parts or PARTS:
            work, title = PARTS[part]
            runs = Runs(arguments, Path(name))
            section = work(runs)
            print(section, flush=True)
            commands = "\n".join(dict.fromkeys(runs.commands))
            found[title] = (f"\n{section}Measured on one core of "
                            f"{processor[1] if processor else platform.machine()}, {version}:\n\n"
                            f"```text\n{commands}\n```\n\n")
            write(found)


if __name__ == "__main__":
    main()
