#!/usr/bin/env python3
"""Writes docs/results/index.md: a table of preset, claim, verdict and page, from the committed
results.

    scripts/pages/results_index.py [--check]

With --check nothing is written, and the exit code is 1 unless the page is up to date.
"""
import collections
import json
import sys
from pathlib import Path

from page_file import write_or_check

RESULTS = Path(__file__).resolve().parents[2] / "docs/results"
PAPERS = {
    "PAS and PAFS": ("parity", "permutation", "ising-50", "ising-100", "ising-150", "ising-200",
                     "fhmm", "rbm", "ising-learning", "ebm-static-mnist"),
    "LBJ": ("lbj-bernoulli", "lbj-categorical", "lbj-ising", "lbj-potts", "lbj-fhmm", "lbj-rbm"),
    "AB": ("alpha-sigma", "ab-ising", "ab-gaussian", "ab-logistic", "ab-quartic", "ab-deep"),
    "LSB": ("lsb-ising", "lsb-rbm", "lsb-bayesnet"),
    "FHL": ("fhl-image", "fhl-flat", "fhl-mixture", "fhl-rings", "fhl-fashion", "fhl-score",
            "fhl-jem"),
}
HEAD = """# Results

This page lists all measurements: first the pages, then the claims of the papers with their
verdicts. `scripts/pages/results_index.py` generates it from the results of the presets; a test
compares the two.

| page | content |
| --- | --- |
| [Performance](performance.md) | time of every stage on a CPU, ESS per second, \
comparison with published programs; [discussion](performance-discussion.md) |
| [A ResNet beside the published programs, on a CPU with AVX2](published-networks.md) | steps, \
annealing and training of a ResNet-64 by the published programs' own code and by Isinglass, in \
turns |
| [A ResNet beside the published programs, on a CPU with AVX-512](published-networks-avx512.md) | \
the same on another processor |
| [Steps on a resnet on a CPU, before and after](network-cpu.md) | CPU step times of two \
revisions: before the first layers of a ResNet were composed, and after |
| [Steps and training of a resnet on a CPU, before and after](winograd-cpu.md) | the same: before \
and after convolutions ran by Winograd's algorithm |
| [Steps on a CPU, before and after](cpu-before-after.md) | CPU step times of two revisions: \
before the GPU kernels were optimised, and after |
| [On an H100](gpu.md) | steps and training of a ResNet-64 beside published programs on the same \
GPU; measured and predicted times; tests and sanitizers |
| [Machine code of the kernels](gpu-static.md), [predicted times on GPUs](gpu-predictions.md), \
[before and after](gpu-before-after.md) | registers, local memory, occupancy; counters of a step, \
and times by a model |
| [Tempering](tempering.md) | tempering beside plain chains: a cold lattice, maximum cut, an RBM, \
a deep network; schedules of annealing; the cost of a scan |
| [Trajectory tempering](trajectory-tempering.md), [of a ResNet](trajectory-tempering-resnet.md) | \
training with swaps between the chains and earlier models of the run, \
beside persistent chains alone |
| [From a clone to a result](first-hour.md) | set-up, the first build, a first result, and the \
demonstration |
| [How long the commands of the guide take](guide-times.md) | every command of the README and of \
the guide, run as it is written |
| [Ranks](ranks.md) | two processes beside one: sampling, training, annealing, a grid |
| [A shared machine](shared-machine.md) | steps per second beside busy processes and alone, \
by default and with other ways to wait |
| [Python](python.md) | cost of a step from Python; \
steps on a PyTorch module beside published programs |
| [Combinatorial problems](combinatorial.md) | maximum cut and QUBO by annealing at its defaults, \
beside published values |
| [Discrete samplers compared](samplers.md) | all discrete samplers on a critical lattice and an \
RBM, in equal time; [discussion](samplers-discussion.md) |
| [Leaders and wrong gradients](leader.md) | `fhl` and `hmc` where the gradient has more modes \
than the energy; [discussion](leader-discussion.md) |
| [Static MNIST](static-mnist.md) | likelihoods of ResNets and RBMs trained on static MNIST |
| [Other images](images.md) | likelihoods of ResNets of the Omniglot stand-in, dynamic MNIST, \
Caltech silhouettes and Frey Faces |
| [A learning rate that follows the chains](lag-control.md) | likelihoods of RBMs with and without \
`--lr-control lag`, and log Z by the work on the chains |
| [Training an RBM](rbm-training.md), [an RBM with an exact likelihood](small-rbm.md) | effect of \
the learning rate, its schedule, centring, weight decay and validation; \
a short training beside five long ones |
| [Pilots of a ResNet](resnet-pilots.md) | effect of channels, steps, the learning rate, \
the weight on squared energies and tempered chains |
| [Recovery from divergence](recovery.md) | five seeds of a ResNet-8, \
and one at four times the learning rate, with recovery and without |
| [Verdicts](verdicts.md) | every claim below, before and after the rules became strict |

## The papers' claims

Every preset repeats an experiment of a paper on two cores of a CPU. The column *scale* gives its
share of the paper's work (chains × steps). [A rule](../reference/grid-files.md#claims) computes the
verdict: *beats* requires a better number, and *matches* one that is not worse by more than the
margin on the page. Statements about equilibrium use converged chains only. *Undecided* is no
verdict against a paper: these runs cannot decide the claim, and the page gives the reason.

Each page is a single HTML file; download it and open it, or rebuild it with
`isinglass report docs/results/PRESET`. † marks targets that are smaller than the paper's, so that
chains converge in the time of a run; the page names them.
"""


def page():
    results = {file.parent.name: json.loads(file.read_text(encoding="utf-8"))
               for file in sorted(RESULTS.glob("*/results.json"))}
    listed = [preset for presets in PAPERS.values() for preset in presets]
    if set(listed) != set(results):
        sys.exit(f"presets without a paper, or without results: {set(listed) ^ set(results)}")
    counts = collections.Counter(claim["verdict"] for r in results.values()
                                 for claim in r["claims"])
    text = HEAD + "\nIn all: " + ", ".join(
        f"{counts[verdict]} {verdict}"
        for verdict in ("supported", "not supported", "undecided")) + ".\n"
    for paper, presets in PAPERS.items():
        text += (f"\n### {paper}\n\n| preset | scale | claim | rule | verdict | page |\n"
                 "| --- | --- | --- | --- | --- | --- |\n")
        for preset in presets:
            result = results[preset]
            mark = "†" if result.get("smaller") else ""
            for i, claim in enumerate(result["claims"]):
                first = ((f"`{preset}`: {result['title']}", f"{result['scale']:g}") if i == 0
                         else ("", ""))
                text += "| " + " | ".join([
                    *(cell.replace("|", "\\|") for cell in first),
                    claim["claim"].replace("|", "\\|"), claim["rule"],
                    f"**{claim['verdict']}**{mark}",
                    f"[page]({preset}/report.html)" if i == 0 else ""]) + " |\n"
    return text


if __name__ == "__main__":
    write_or_check(RESULTS / "index.md", page(), "results")
