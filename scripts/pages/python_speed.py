#!/usr/bin/env python3
"""Writes docs/results/python.md: times of the Python package beside the library's own loop and
beside published programs.

    .venv/bin/python scripts/pages/python_speed.py [--gwg FOLDER --pas FOLDER] [--repeats N]
        [--check]

There are two measurements. In each, all stages take turns in one run:
  closed form  a step from Python beside a step in the library's own loop, which shows the overhead
               of Python
  ResNet-64    a step on a PyTorch module beside the module's own energy and gradient
With copies of github.com/wgrathwohl/GWG_release and github.com/ha0ransun/Path-Auxiliary-Sampler the
module is the ResNet-64 of the first, and the samplers of both are timed on it, too.
--check writes nothing and fails if a cost is above its limit.
"""
import argparse
import contextlib
import importlib
import io
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import torch

import isinglass as ig

PAGE = Path(__file__).resolve().parents[2] / "docs/results/python.md"
MICROSECONDS, RATIO = 5.0, 1.05  # the limits
# A measurement has STEPS steps of a closed form, and a repeat has TURNS measurements, because short
# measurements vary together with the machine's load.
STEPS, TURNS = 100, 20
CHAINS = {"closed form": 10, "network": 100}
OWN, GWG, PAS = ("the module's own energy and gradient", "GWG_release, `DiffSampler`",
                 "PAS, `MSPathCorrectSampler(5)`")
# Modules that GWG_release's samplers import for data sets and plots; they are replaced by mocks.
UNUSED = ("igraph", "rbm", "torchvision", "torchvision.transforms", "toy_data", "tqdm",
          "visualize_flow")


class Block(torch.nn.Module):
    def __init__(self, channels, stride):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(channels, channels, 3, stride, 1)
        self.conv2 = torch.nn.Conv2d(channels, channels, 3, 1, 1)
        self.shortcut = (torch.nn.Conv2d(channels, channels, 1, stride) if stride > 1
                         else torch.nn.Identity())

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
        return self.energy_linear(
            self.net(self.proj(x.reshape(-1, 1, 28, 28))).mean((2, 3))).squeeze(-1)


def channels_last(module, x):
    """The function of docs/guide/python.md."""
    weights = {name: p.clone(memory_format=torch.channels_last) if p.dim() == 4 else p
               for name, p in module.named_parameters()}
    return torch.func.functional_call(module, weights, (x,))


def seconds(work):
    """Returns the seconds of `work`: processor time with one thread, which other work disturbs
    little, else wall time."""
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    start = clock()
    work()
    return clock() - start


def in_turns(stages, repeats):
    """Returns a list of seconds for every stage. Each round runs all stages once; the first round
    does not count."""
    rounds = [{name: seconds(work) for name, work in stages.items()} for _ in range(repeats + 1)]
    return {name: [one[name] for one in rounds[1:]] for name in stages}


def median(times):
    return statistics.median(times)


def closed_forms(repeats):
    """Returns rows: instance, sampler, µs a step in the library, µs from Python, and the median
    difference."""
    rows = []
    for instance, name in (("ising-grid:side=10,coupling=0.3", "gwg"),
                           ("ising-grid:side=10,coupling=0.3", "pafs"),
                           ("bernoulli:sites=100", "gwg"), ("categorical:sites=50", "dlp"),
                           ("misled-mixture", "hmc")):
        target, sampler = ig.instance(instance), ig.sampler(name)
        state = sampler.init(target, chains=CHAINS["closed form"], seed=0)

        def from_python(target=target, sampler=sampler, state=state):
            for _ in range(STEPS):
                sampler.step(target, state)

        def in_library(target=target, sampler=sampler, state=state):
            sampler.burn_in(target, state, STEPS)  # burn_in takes steps one by one

        times = in_turns({"library": in_library, "python": from_python}, TURNS * repeats)
        more = [b - a for a, b in zip(times["library"], times["python"], strict=True)]
        rows.append((instance, name,
                     *(1e6 * median(each) / STEPS
                       for each in (times["library"], times["python"], more))))
    return rows


def own_gradient(module, x):
    relaxed = x.float().requires_grad_()
    energy = -module(relaxed)
    return energy.detach(), torch.autograd.grad(energy.sum(), relaxed)[0]


def published(gwg, pas):
    """Returns the published ResNet-64 and, by name, a step of each published sampler: (states [B,
    D], log-density) → states."""
    sys.path.insert(0, gwg)
    module = importlib.import_module("mlp").ResNetEBM(64)
    with mock.patch.dict(sys.modules, {name: mock.MagicMock() for name in UNUSED}):
        samplers = importlib.import_module("samplers")
    steps = {GWG: samplers.DiffSampler(784, 1, approx=True, fixed_proposal=False, multi_hop=False,
                                       temp=2.0).step}
    if pas:
        file = Path(pas) / "PAS/debm/sampling/multistep_sampler.py"
        spec = importlib.util.spec_from_file_location("multistep_sampler", file)
        spec.loader.exec_module(multistep := importlib.util.module_from_spec(spec))
        with contextlib.redirect_stdout(io.StringIO()):
            steps[PAS] = multistep.MSPathCorrectSampler(5).step
    return module, steps


def networks(repeats, gwg, pas):
    """Returns rows (stage, ms, ratio to the module's own energy and gradient) and the times of all
    stages."""
    torch.manual_seed(0)
    module, theirs = published(gwg, pas) if gwg else (ResNet(), {})
    targets = {"on the module": ig.energy(lambda x: -module(x), sites=784, name="ResNet-64"),
               "on the module, weights channels-last":
                   ig.energy(lambda x: -channels_last(module, x), sites=784, name="ResNet-64")}
    with tempfile.TemporaryDirectory() as folder:
        torch.save(module.state_dict(), f"{folder}/resnet.pt")
        targets["on `ig.load` of its weights"] = ig.load("resnet", f"{folder}/resnet.pt")
    x = targets["on the module"].random_states(CHAINS["network"], seed=0)
    stages = {OWN: lambda: own_gradient(module, x)}
    for where, target in targets.items():
        for name, options in (("gwg", {}), ("pafs", {"radius": 5})):
            sampler = ig.sampler(name, **options)
            state = sampler.init(target, x, seed=0)
            stages[f"`{name}` {where}"] = lambda s=sampler, t=target, state=state: s.step(
                t, state, unchanged=True)

    states = {name: x.float() for name in theirs}

    def their_step(name):
        states[name] = theirs[name](states[name], module).detach()

    for name in theirs:
        stages[name] = lambda name=name: their_step(name)
    times = in_turns(stages, repeats)
    rows = [(name, 1e3 * median(each), over(each, times[OWN])) for name, each in times.items()]
    return rows, times


def over(times, others):
    """Returns the median over rounds of the ratio of two stages."""
    return median([a / b for a, b in zip(times, others, strict=True)])


def comparison(times):
    """Returns rows: published sampler, our sampler with the same step, and how many times faster
    ours is on each target."""
    rows = []
    for theirs, ours in ((GWG, "gwg"), (PAS, "pafs")):
        if theirs in times:
            rows.append([theirs, f"`{ours}`"] +
                        [f"{over(times[theirs], times[name]):.2f}" for name in times
                         if name.startswith(f"`{ours}` on")])
    return rows


MEANING = """
## What it means

This section is written by hand about the tables above.

- From Python a step of a cheap closed form takes 1 to 2 µs more than in the library's loop.
- A step on a PyTorch module costs 2 to 4 % more than the module's own energy and gradient. The
  library's ResNet is faster than the module, with the same weights.

What is open: `hmc` is above the limit, and no GPU was measured.
"""


def table(heads, rows):
    lines = ["| " + " | ".join(cells) + " |" for cells in [heads, ["---"] * len(heads), *rows]]
    return "\n".join(lines) + "\n"


def page(closed, deep, times, repeats):
    where = (f"{torch.get_num_threads()} thread{'s' * (torch.get_num_threads() > 1)} of "
             f"{processor()}, no GPU")
    compared = comparison(times)
    command = (f"scripts/pages/python_speed.py --repeats {repeats}" +
               " --gwg FOLDER --pas FOLDER" * bool(compared))
    text = ("# Speed of the Python package\n\nThis page shows the time of a sampler's step from "
            "Python: on closed forms beside the library's own\n"
            "loop, and on a PyTorch module beside the module's own gradient"
            + " and beside published programs" * bool(compared) + ".\n\n## Closed forms\n\n")
    text += table(["target", "sampler", "library, µs", "Python, µs", "difference, µs"],
                  [[f"`{instance}`", f"`{name}`", f"{library:.1f}", f"{python:.1f}", f"{more:+.1f}"]
                   for instance, name, library, python, more in closed])
    text += (f"\nTimes of one step of {CHAINS['closed form']} chains by `sampler.step(target, "
             "state)` in a Python loop,\nand by the library's loop. The difference is the median "
             f"over rounds, not the difference of the\nmedians; its limit is {MICROSECONDS:g} µs.")
    above = [f"`{name}` on `{instance}`, by {more / library:.1%} of its step"
             for instance, name, library, _, more in closed if more > MICROSECONDS]
    text += f" Above the limit: {'; '.join(above)}.\n" if above else "\n"
    text += "\n## A PyTorch module\n\n"
    text += table(["stage", "ms", "ratio to the module's own"],
                  [[name, f"{time:.1f}", f"{ratio:.3f}"] for name, time, ratio in deep])
    text += (f"\nThe module is a ResNet-64 on 28 × 28 pixels with new weights; {CHAINS['network']} "
             f"chains. The limit for a\nstep on the module, with `unchanged=True`, is {RATIO:g} "
             "times the module's own energy and gradient.\n"
             "*Weights channels-last* uses a function of three lines that converts the weights\n"
             "([guide](../guide/python.md)). `ig.load` reads the same weights into the "
             "library's ResNet.\n")
    if compared:
        text += "\nTimes faster than the published programs on their own ResNet-64:\n\n"
        text += table(["published sampler", "ours", "on the module",
                       "on the module, weights channels-last", "on `ig.load` of its weights"],
                      compared)
        text += ("\nThe steps of the published programs call the network up to four times. DISCS "
                 "is not compared: it is\n"
                 "written in JAX and takes no PyTorch module.\n")
    return text + (f"\n## How it was measured\n\n`{command}` wrote this page on\n{where}, "
                   f"torch {torch.__version__}. Figures are medians over rounds of\n"
                   "one run, in which all stages take turns.\n" + MEANING)


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.partition(":")[2].strip()
                     for line in file if line.startswith("model name")), platform.machine())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--gwg", metavar="FOLDER")
    parser.add_argument("--pas", metavar="FOLDER")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    closed, (deep, times) = (closed_forms(given.repeats),
                             networks(given.repeats, given.gwg, given.pas))
    text = page(closed, deep, times, given.repeats)
    print(text)
    if not given.check:
        PAGE.write_text(text, encoding="utf-8")
        return
    slow = [row[:2] for row in closed if row[4] > MICROSECONDS]
    slow += [row[0] for row in deep if row[0].endswith("on the module") and row[2] > RATIO]
    if slow:
        sys.exit(f"above the limit: {slow}")


if __name__ == "__main__":
    main()
