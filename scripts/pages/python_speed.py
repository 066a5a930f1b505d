#!/usr/bin/env python3
"""Times the Python package beside what it stands on, and writes docs/results/python.md.

    .venv/bin/python scripts/pages/python_speed.py [--published FOLDER] [--repeats N] [--check]

Two measurements, each of stages that take turns in one run:
  closed form  a step from Python beside one in the library's own loop: what the way through Python costs
  ResNet-64    a step on a PyTorch module beside the module's own energy and gradient; and, with --published, on
               the ResNet-64 of a copy of github.com/wgrathwohl/GWG_release by its own sampler
--check writes nothing, and fails where a cost is above its limit.
"""
import argparse
import importlib
import platform
import statistics
import sys
import time
from pathlib import Path

import torch

import isinglass as ig

PAGE = Path(__file__).resolve().parents[2] / "docs/results/python.md"
MICROSECONDS, RATIO = 5.0, 1.05  # the limits
STEPS = 2000  # of a closed form, in one measurement
CHAINS = {"closed form": 10, "network": 20}


class Block(torch.nn.Module):
    def __init__(self, channels, stride):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(channels, channels, 3, stride, 1)
        self.conv2 = torch.nn.Conv2d(channels, channels, 3, 1, 1)
        self.shortcut = torch.nn.Conv2d(channels, channels, 1, stride) if stride > 1 else torch.nn.Identity()

    def forward(self, x):
        silu = torch.nn.functional.silu
        return silu(self.conv2(silu(self.conv1(x))) + self.shortcut(x))


class ResNet(torch.nn.Module):
    """The network of docs/concepts/energies.md: log-densities of images of 28 × 28."""

    def __init__(self, channels=64):
        super().__init__()
        self.proj = torch.nn.Conv2d(1, channels, 3, 1, 1)
        self.net = torch.nn.Sequential(*[Block(channels, 2 if i < 2 else 1) for i in range(8)])
        self.energy_linear = torch.nn.Linear(channels, 1)

    def forward(self, x):
        return self.energy_linear(self.net(self.proj(x.reshape(-1, 1, 28, 28))).mean((2, 3))).squeeze(-1)


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turns(stages, repeats):
    """Seconds of every stage, a list each; all stages once, then again. The first round does not count."""
    rounds = [{name: seconds(work) for name, work in stages.items()} for _ in range(repeats + 1)]
    return {name: [one[name] for one in rounds[1:]] for name in stages}


def median(times):
    return statistics.median(times)


def closed_forms(repeats):
    """Rows: instance, sampler, µs a step in the library and from Python."""
    rows = []
    for instance, name in (("ising-grid:side=10,coupling=0.3", "gwg"), ("ising-grid:side=10,coupling=0.3", "pafs"),
                           ("bernoulli:sites=100", "gwg"), ("categorical:sites=50", "dlp"),
                           ("misled-mixture", "hmc")):
        target, sampler = ig.instance(instance), ig.sampler(name)
        state = sampler.init(target, chains=CHAINS["closed form"], seed=0)

        def from_python(target=target, sampler=sampler, state=state):
            for _ in range(STEPS):
                sampler.step(target, state)

        def in_library(target=target, sampler=sampler, state=state):
            sampler.burn_in(target, state, STEPS)  # one by one, as it would adapt

        times = in_turns({"library": in_library, "python": from_python}, repeats)
        rows.append((instance, name, *(1e6 * median(times[key]) / STEPS for key in ("library", "python"))))
    return rows


def own_gradient(module, x):
    relaxed = x.float().requires_grad_()
    energy = -module(relaxed)
    return energy.detach(), torch.autograd.grad(energy.sum(), relaxed)[0]


def networks(repeats, published):
    """Rows: what, ms, times the module's own energy and gradient."""
    torch.manual_seed(0)
    module = ResNet()
    if published:
        sys.path.insert(0, published)
        module = importlib.import_module("mlp").ResNetEBM(64)
    target = ig.energy(lambda x: -module(x), sites=784, name="ResNet-64")
    x = target.random_states(CHAINS["network"], seed=0)
    stages = {"the module's own energy and gradient": lambda: own_gradient(module, x)}
    for name, options in (("pafs", {"radius": 5}), ("gwg", {})):
        sampler = ig.sampler(name, **options)
        state = sampler.init(target, x, seed=0)
        stages[f"`{name}` on it"] = lambda sampler=sampler, state=state: sampler.step(target, state)
    if published:
        theirs = importlib.import_module("samplers").DiffSampler(784, 1, approx=True, fixed_proposal=False,
                                                                 multi_hop=False, temp=2.0)
        stages["GWG_release's DiffSampler on it"] = lambda: theirs.step(x.float(), module)
    times = in_turns(stages, repeats)
    own = times["the module's own energy and gradient"]
    return [(name, 1e3 * median(each), median([a / b for a, b in zip(each, own, strict=True)]))
            for name, each in times.items()]


def table(heads, rows):
    lines = ["| " + " | ".join(cells) + " |" for cells in [heads, ["---"] * len(heads), *rows]]
    return "\n".join(lines) + "\n"


def page(closed, deep, repeats, published):
    where = f"{torch.get_num_threads()} thread{'s' * (torch.get_num_threads() > 1)}, {platform.machine()}, no GPU"
    text = (f"# Speed of the Python package\n\nWritten by `scripts/pages/python_speed.py --repeats {repeats}"
            f"{' --published FOLDER' if published else ''}`; {where}, torch {torch.__version__}. Medians of stages that "
            "take turns in one run.\n\n## Closed forms\n\n"
            f"A step of {CHAINS['closed form']} chains by `sampler.step(target, state)` in a Python loop, beside one in the "
            "library's loop:\n\n")
    text += table(["target", "sampler", "library, µs", "Python, µs", "difference, µs"],
                  [[f"`{instance}`", f"`{name}`", f"{library:.1f}", f"{python:.1f}", f"{python - library:+.1f}"]
                   for instance, name, library, python in closed])
    text += (f"\n## A PyTorch module\n\nResNet-64 on 28 × 28, new weights, {CHAINS['network']} chains; a step has one call of "
             "the module with its gradient:\n\n")
    return text + table(["what", "ms", "times the module's own"],
                        [[name, f"{time:.1f}", f"{ratio:.3f}"] for name, time, ratio in deep])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--published", metavar="FOLDER")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    closed, deep = closed_forms(given.repeats), networks(given.repeats, given.published)
    text = page(closed, deep, given.repeats, given.published)
    print(text)
    if not given.check:
        PAGE.write_text(text, encoding="utf-8")
        return
    slow = [row[:2] for row in closed if row[3] - row[2] > MICROSECONDS]
    slow += [row[0] for row in deep if "`" in row[0] and row[2] > RATIO]
    if slow:
        sys.exit(f"above the limit: {slow}")


if __name__ == "__main__":
    main()
