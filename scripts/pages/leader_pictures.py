#!/usr/bin/env python3
"""Compares Follow Hamiltonian Leader with HMC where the gradient has more modes than the energy.

    scripts/pages/leader_pictures.py OUT.md [--seeds N]

The two targets are the paper's, sampled by build/isinglass with --gradient-model. `mixture`
(section 5.1.3) has the gradient of four modes and the energy of two. `rings` (A.2.1) has the
gradient of eight modes on a circle, and its energy refuses four of them. The script measures the
number of model calls a particle until four fifths of the particles are at right modes, for the
exact samplers and for the variants of the paper that are not exact. Step size, leapfrog steps and
pull are chosen for each row on separate seeds. It writes the table to OUT.md and pictures beside
it, with matplotlib. Settings and measurements are kept in the folder build/leader; remove it to
measure again.
"""
import argparse
import itertools
import json
import math
import pathlib
import statistics
import subprocess

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "isinglass"
WORK = ROOT / "build" / "leader"
PARTICLES, REACHED = 256, 0.8
TUNING_SEEDS = (1000, 1001, 1002)
MODEL_CALLS = 3200  # a particle
PICTURE_CALLS = (0, 160, 800, 3200)

MEANS = {"mixture": torch.tensor([[-2.0, 0], [2, 0], [0, 2], [0, -2]]),
         "rings": torch.tensor([[math.cos(math.pi * i / 4), math.sin(math.pi * i / 4)]
                                for i in range(8)])}
RIGHT = {"mixture": [0, 1], "rings": [0, 2, 4, 6]}
VARIANCE = {"mixture": 1.0, "rings": 0.002}
START = {"mixture": 2.0, "rings": 1.0}  # standard deviation of the first positions
GRID = {"mixture": {"step-size": (0.1, 0.2, 0.4, 0.8), "leapfrog": (4, 8)},
        "rings": {"step-size": (0.02, 0.04), "leapfrog": (4,)}}
PULLS = {"mixture": (0.3, 1, 3), "rings": (10, 100, 500)}
# Flags of each variant; the last three do not leave the target invariant.
VARIANTS = {"hmc": [], "fhl": [], "fhl --elastic-energy": ["--elastic-energy"], "uhmc": [],
            "fhl --always-accept": ["--always-accept"]}
# RADIUS is that of a disc around a right mode; REFUSAL is the energy outside of the discs [nats].
RADIUS, REFUSAL = 0.2, 20.0


class Outside(torch.nn.Module):
    """The second factor of `rings`: an energy of 0 near a right mode and of REFUSAL elsewhere."""

    def __init__(self, modes):
        super().__init__()
        self.register_buffer("modes", modes)
        self.radius, self.refusal = RADIUS, REFUSAL

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        distance = torch.cdist(x.double(), self.modes.double()).amin(1)
        return (distance > self.radius).double() * self.refusal


def mixture_file(name, modes, variance):
    torch.save({"weights": torch.full([len(modes)], 1 / len(modes)), "means": modes,
                "precision": torch.full(modes.shape, 1 / variance)}, WORK / name)
    return WORK / name


def target_arguments(target):
    """The program's flags for the target: its energy, and the gradient of all modes."""
    modes = MEANS[target]
    every = mixture_file(f"{target}.pt", modes, VARIANCE[target])
    gradient = ["--gradient-model", f"gaussian-mixture={every}"]
    if target == "mixture":
        right = mixture_file("right.pt", modes[RIGHT[target]], VARIANCE[target])
        return ["--model", "gaussian-mixture", "--weights", str(right), *gradient]
    script = WORK / "outside.pt"
    torch.jit.script(Outside(modes[RIGHT[target]])).save(str(script))
    return ["--model", "product", "--factors", f"gaussian-mixture={every},script={script}",
            "--sites", "2", *gradient]


def sample(target, variant, settings, seed):
    """Positions [1 + steps, particles, 2], the first ones included, and the summary."""
    start = torch.randn([PARTICLES, 2], generator=torch.Generator().manual_seed(seed))
    torch.save(start * START[target], WORK / "start.pt")
    flags = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    command = [PROGRAM, "sample", *target_arguments(target), "--sampler", variant.split()[0],
               *VARIANTS[variant], *flags, "--steps", str(MODEL_CALLS // settings["leapfrog"]),
               "--init", str(WORK / "start.pt"), "--seed",
               str(seed), "--threads", "1", "--json", "--quiet", "--overwrite", "--out",
               str(WORK / "run")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    draws = torch.load(WORK / "run" / "samples.pt")["samples"]
    return torch.cat([torch.load(WORK / "start.pt").unsqueeze(0), draws]), json.loads(done.stdout)


def share_at_right_modes(target, positions):
    """Returns the share of particles at right modes after every step."""
    distance, nearest = torch.cdist(positions.double(), MEANS[target].double()).min(-1)
    right = torch.isin(nearest, torch.tensor(RIGHT[target]))
    if target == "rings":
        right &= distance < RADIUS
    return right.double().mean(1)


def measure(target, variant, settings, seed):
    """Returns the model calls until REACHED of the particles are at right modes (None: never), and
    other results."""
    positions, summary = sample(target, variant, settings, seed)
    share = share_at_right_modes(target, positions)
    steps = torch.nonzero(share >= REACHED)
    return {"calls": int(steps[0]) * settings["leapfrog"] if len(steps) else None,
            "last share": float(share[-1]), "acceptance": summary["acceptance"],
            "exact": summary["exact"],
            "worst group": summary.get("acceptance_worst_group")}


def median(calls):
    return statistics.median(math.inf if c is None else c for c in calls)


def best_settings(target, variant):
    """Returns the settings of the grid with the lowest median of calls, or the highest last share
    if none gets there."""
    leading = {"pull": PULLS[target], "group": (4,)} if variant.startswith("fhl") else {}
    grid = GRID[target] | leading
    tried = []
    for values in itertools.product(*grid.values()):
        settings = dict(zip(grid, values))
        runs = [measure(target, variant, settings, seed) for seed in TUNING_SEEDS]
        share = statistics.mean(r["last share"] for r in runs)
        score = (median([r["calls"] for r in runs]), -share)
        tried.append((score, len(tried), settings))
    return min(tried)[2]


def measure_seeds(target, variant, settings, seeds):
    return [measure(target, variant, settings, seed) for seed in range(seeds)]


def kept(name, make, *arguments):
    """Returns the content of NAME.json in the work folder; computes and stores it if it is
    missing."""
    file = WORK / f"{name.replace(' ', '')}.json"
    if not file.exists():
        file.write_text(json.dumps(make(*arguments)), encoding="utf-8")
    return json.loads(file.read_text(encoding="utf-8"))


def measure_all(seeds):
    results = []
    for target, variant in itertools.product(MEANS, VARIANTS):
        name = f"{target}-{variant}"
        settings = kept(f"settings-{name}", best_settings, target, variant)
        runs = kept(f"runs-{seeds}-{name}", measure_seeds, target, variant, settings, seeds)
        results.append({"target": target, "variant": variant, "settings": settings, "runs": runs})
        print(target, variant, settings, median([r["calls"] for r in runs]), flush=True)
    return results


def median_interval(calls):
    """Returns order statistics that contain the median with a probability of at least 95 %, by the
    binomial law."""
    n, below, tail = len(calls), 0, 0.0
    while (tail := tail + math.comb(n, below) / 2**n) <= 0.025:
        below += 1
    ordered = sorted(math.inf if c is None else c for c in calls)
    return ordered[max(0, below - 1)], ordered[min(n - 1, n - below)]


def number(calls):
    return f"more than {MODEL_CALLS}" if math.isinf(calls) else f"{calls:g}"


def spread(values, digits=2):
    """Returns the mean ± its standard error as text."""
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{statistics.mean(values):.{digits}f} ± {error:.{digits}f}"


def row(result):
    runs, settings = result["runs"], result["settings"]
    calls = [r["calls"] for r in runs]
    low, high = median_interval(calls)
    worst = [r["worst group"] for r in runs if r["worst group"] is not None]
    cells = [f"`{result['target']}`", f"`{result['variant']}`",
             "yes" if runs[0]["exact"] else "no",
             ", ".join(f"`--{name} {value:g}`" for name, value in settings.items()),
             f"{sum(c is not None for c in calls)} of {len(calls)}", number(median(calls)),
             f"{number(low)} – {number(high)}", spread([r["last share"] for r in runs]),
             spread([r["acceptance"] for r in runs]), spread(worst) if worst else "–"]
    return "| " + " | ".join(cells) + " |\n"


def energy_on_grid(target, x, y):
    points = torch.stack([x.flatten(), y.flatten()], 1).double()
    modes = MEANS[target].double()
    square = torch.cdist(points, modes).square() / (2 * VARIANCE[target])
    if target == "mixture":
        return -torch.logsumexp(-square[:, RIGHT[target]], 1).view(x.shape)
    outside = torch.cdist(points, modes[RIGHT[target]]).amin(1) > RADIUS
    return (-torch.logsumexp(-square, 1) + REFUSAL * outside).view(x.shape)


def draw(target, results, file):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    of_target = [r for r in results if r["target"] == target]
    half = 5.0 if target == "mixture" else 2.0
    axis = torch.linspace(-half, half, 300)
    x, y = torch.meshgrid(axis, axis, indexing="xy")
    energy = energy_on_grid(target, x, y)
    levels = energy.min() + torch.tensor([0.5, 1, 2, 4, 8, 16, 32, 64.0])
    figure, axes = pyplot.subplots(len(of_target), len(PICTURE_CALLS),
                                   figsize=(12, 3 * len(of_target)), sharex=True, sharey=True,
                                   layout="constrained")
    for line, result in zip(axes, of_target):
        positions, _ = sample(target, result["variant"], result["settings"], seed=0)
        share = share_at_right_modes(target, positions)
        for panel, calls in zip(line, PICTURE_CALLS):
            step = calls // result["settings"]["leapfrog"]
            panel.contour(x, y, energy, levels=levels.tolist(), cmap="Greys_r", linewidths=0.7)
            panel.scatter(*positions[step].T, s=4, color="tab:red" if "fhl" in result["variant"]
                          else "tab:blue")
            panel.set(xlim=(-half, half), ylim=(-half, half), aspect="equal",
                      title=f"{result['variant']}, {calls} calls: {share[step]:.0%}")
            panel.title.set_size(9)
    figure.savefig(file, dpi=90, pil_kwargs={"optimize": True})
    pyplot.close(figure)


def write_page(results, out):
    lines = ["# Follow Hamiltonian Leader and HMC under gradients of too many modes\n\n",
             "This page compares `fhl` with HMC on two targets whose gradient has more modes "
             "than their energy.\n"
             "`mixture` has the gradient of four modes and the energy of two of them (section "
             "5.1.3 of the\npaper). `rings` has the gradient of eight modes on a circle, and its "
             "energy refuses four of them (A.2.1).\n"
             "[The discussion](leader-discussion.md) is written by hand: revise it when the "
             "table changes.\n\n",
             f"| target | sampler | exact | settings | seeds that got {REACHED:.0%} of the "
             "particles to right modes | median of model calls a particle until then | 95 % "
             "interval | final share at right modes | acceptance | acceptance of "
             "the worst group |\n", "|" + " --- |" * 10 + "\n",
             *(row(result) for result in results),
             "\n± are standard errors over seeds. The interval is of order statistics that contain "
             "the median. Samplers\nthat are not *exact* do not leave the target invariant.\n\n"
             "## How it was measured\n\n",
             f"`scripts/pages/leader_pictures.py {out.relative_to(ROOT)}` wrote this page; it "
             "describes the targets\n"
             f"and the measurement. There are {PARTICLES} particles, in groups of 4 for `fhl`, and "
             f"{len(results[0]['runs'])} seeds. A run ends\n"
             f"after {MODEL_CALLS} model calls a particle. The settings of each row are the "
             "best of a grid on\n"
             f"{len(TUNING_SEEDS)} other seeds.\n"]
    for target in MEANS:
        picture = out.with_name(f"{out.stem}-{target}.png")
        draw(target, results, picture)
        lines.append(f"\n## {target}\n\nParticles of seed 0 over contours of the "
                     "energy. The titles give the model calls a particle and\n"
                     f"the share at right modes.\n\n![particles]({picture.name})\n")
    out.write_text("".join(lines), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    write_page(measure_all(arguments.seeds), arguments.out.resolve())


if __name__ == "__main__":
    main()
