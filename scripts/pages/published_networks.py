#!/usr/bin/env python3
"""Times the steps of the published programs on a ResNet EBM beside ours on a CPU, in turns in one
run.

    scripts/pages/published_networks.py --gwg CHECKOUT --pas CHECKOUT PAGE.md [--threads T]
                                        [--rounds N]

The checkouts are the public repositories wgrathwohl/GWG_release and
ha0ransun/Path-Auxiliary-Sampler, whose own code scripts/gpu/peers.py times. In each round that
script and `isinglass bench` take turns in going first; a round's ratio is that of their medians.
Both have 100 chains, 64 channels and random weights. The page is written after every round. Run the
script on an idle machine.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import performance_page

PEERS = pathlib.Path(__file__).resolve().parents[1] / "gpu" / "peers.py"
OURS = {"gwg": ["--sampler", "gwg", "--steps-per-iter", "10", "--stages",
                "energy,energy-gradient,step,ais-step,training-iteration"],
        "pafs": ["--sampler", "pafs", "--radius", "5", "--stages", "step"]}
# Rows: what is timed, the published program, its step's name in peers.py, our sampler and stage.
ROWS = [("energy", "network of GWG_release", "forward", "gwg", "energy"),
        ("energy and gradient", "network of GWG_release", "forward and gradient", "gwg",
         "energy-gradient"),
        ("step of GWG", "GWG_release", "gwg", "gwg", "step"),
        ("step of PAFS, radius 5", "Path-Auxiliary-Sampler", "mscorrect-5", "pafs", "step"),
        ("step of annealed importance sampling by GWG", "GWG_release", "ais step by gwg", "gwg",
         "ais-step"),
        ("training iteration of 10 steps of GWG", "GWG_release", "pcd iteration of 10 gwg steps",
         "gwg", "training-iteration")]


def published(arguments):
    """Returns the version of PyTorch, and the median milliseconds of the published steps."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "peers.json"
        subprocess.run([sys.executable, str(PEERS), "--gwg", arguments.gwg, "--pas", arguments.pas,
                        "--device", "cpu", "--reps", "3", "--json", str(file)], check=True,
                       stdout=subprocess.DEVNULL,
                       env={**os.environ, "OMP_NUM_THREADS": str(arguments.threads)})
        result = json.loads(file.read_text())
        return result["torch"], {name: 1e3 * statistics.median(seconds)
                                 for name, seconds in result["seconds"].items()}


def ours(arguments):
    """Returns the machine, and the median milliseconds of each sampler's stages."""
    times = {}
    for sampler, options in OURS.items():
        command = [performance_page.PROGRAM, "bench", "--model", "resnet", "--channels", "64",
                   *options, "--chains", "100", "--repeats", "5", "--threads",
                   str(arguments.threads), "--json", "--quiet"]
        result = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE,
                                           text=True).stdout)
        times[sampler] = {stage["name"]: stage["milliseconds"]["median"]
                          for stage in result["stages"]}
    return result["machine"], times


def page(arguments, revision, machine, torch, rounds):
    """Returns the page of these rounds."""
    lines = []
    for what, program, theirs, sampler, stage in ROWS:
        times = [(peers[theirs], own[sampler][stage]) for peers, own in rounds]
        ratios = [peer / own for peer, own in times]
        lines.append(f"| {what} | {program} | {statistics.median(t for t, _ in times):.4g} | "
                     f"{statistics.median(t for _, t in times):.4g} | "
                     f"{statistics.median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} |")
    table = "\n".join(lines)
    return f"""# A ResNet beside the published programs, on a CPU with {instructions()}

This page shows times of 100 chains on a ResNet of 64 channels with random weights, by the published
programs' own code and by Isinglass ({revision}).

| what | published program | its time, ms | ours, ms | times as fast | least to most |
| --- | --- | ---: | ---: | ---: | ---: |
{table}

`scripts/pages/published_networks.py --gwg CHECKOUT --pas CHECKOUT \
docs/results/{arguments.page.name} --threads {arguments.threads} --rounds {arguments.rounds}`
wrote this page from {len(rounds)} rounds with {arguments.threads} thread(s) on \
{machine['cores']} core(s) of a processor {machine['cpu']}, the published programs with PyTorch
{torch}. The checkouts are wgrathwohl/GWG_release {commit(arguments.gwg)} and
ha0ransun/Path-Auxiliary-Sampler {commit(arguments.pas)}. The programs took turns in going first.
Times are medians over the rounds, and the last columns are the median of the ratios of the rounds,
and their least and most.

The published programs compute a state's energy and gradient several times in a step (GWG: four
energies and two gradients), and Isinglass once, because it keeps those of the present state. Most
of its convolutions are by Winograd's algorithm (kernels/network/winograd.h), and the first two are
one (models/network/front.h).
"""


def instructions():
    """Returns the widest vector instructions of this processor."""
    flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    return next(name for flag, name in [("avx512f", "AVX-512"), ("avx2", "AVX2"), ("", "no AVX2")]
                if not flag or flag in flags)


def commit(checkout):
    return subprocess.run(["git", "-C", checkout, "rev-parse", "--short=7", "HEAD"], check=True,
                          capture_output=True, text=True).stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--gwg", required=True)
    parser.add_argument("--pas", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    if cores < arguments.threads:
        sys.exit(f"{arguments.threads} threads need as many cores; this process may use {cores}")
    version = subprocess.run([performance_page.PROGRAM, "--version"], check=True,
                             capture_output=True, text=True).stdout
    rounds = []
    for turn in range(arguments.rounds):
        if turn % 2:
            torch, peers = published(arguments)
            machine, own = ours(arguments)
        else:
            machine, own = ours(arguments)
            torch, peers = published(arguments)
        rounds.append((peers, own))
        arguments.page.write_text(page(arguments, version.split("(")[1].split(")")[0], machine,
                                       torch, rounds), encoding="utf-8")
        print(f"round {turn + 1} of {arguments.rounds}", flush=True)


if __name__ == "__main__":
    main()
