#!/usr/bin/env python3
"""Writes docs/results/ranks.md: the throughput of two ranks of one thread beside one, and training
on 1, 2 and 4 ranks beside the prediction of the formulas in docs/guide/many-gpus.md.

    .venv/bin/python scripts/pages/ranks_speed.py [PROGRAM] [--repeats N]

Run it on a machine with two idle cores. One process, two ranks and two processes apart take turns.
The processes apart do half of the work each without communication, and the slower one counts. What
these lose, through a smaller batch or the memory that the cores share, ranks cannot win.
"""
import argparse
import json
import math
import os
import platform
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/results/ranks.md"
GRID = """title = "cells"
[common]
chains = 100
burn-in = 500
steps = 3000
[[models]]
instance = "ising-grid:side=30,coupling=0.3"
[[samplers]]
sampler = "pafs"
radius = 5
"""


def rate_of_sample(folder):
    return json.loads((folder / "summary.json").read_text())["steps_per_second"]


def rate_of_training(folder):
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return statistics.median(json.loads(line)["iterations_per_second"] for line in lines[3:])


def rate_of_annealing(folder):
    return 1 / json.loads((folder / "ais.json").read_text())["seconds"]


# For each kind of work: the command, a reader of its throughput (None: 1 / the time of the command)
# and the aim.
RBM = "--model rbm --weights weights/static-mnist-rbm500.pt"
TRAINING = "training of a ResNet-16, 10 steps an iteration"
RESNET = "--model resnet --weights weights/static-mnist-resnet16.pt"
WORK = {
    "Ising 50 × 50, `pafs`": (
        "sample --instance ising-grid:side=50,coupling=0.3 --sampler pafs --radius 5 --chains 200 "
        "--steps 5000 --thin 100 --no-samples",
        rate_of_sample, 1.9),
    "RBM 784–500, `pafs`":
        (f"sample {RBM} --sampler pafs --radius 5 --chains 100 --steps 2000 "
         "--thin 100 --no-samples", rate_of_sample, 1.9),
    "ResNet-16, `pafs`":
        (f"sample {RESNET} --sampler pafs --radius 5 --chains 100 --steps 150 "
         "--thin 100 --no-samples", rate_of_sample, 1.9),
    TRAINING: (
        "train --dataset strokes --model resnet --channels 16 --sampler pafs --steps-per-iter 10 "
        "--batch 100 --buffer 500 --iters 20",
        rate_of_training, 1.85),
    "annealing of the RBM":
        (f"evaluate {RBM} --sampler pafs --radius 5 --chains 100 --steps 2000 --path linear "
         "--schedule linear --no-reverse", rate_of_annealing, 1.9),
    "a grid of 20 cells": ("ablate --grid grid.toml --repeats 20", None, 1.9),
}
# Times sums between ranks; rank 0 prints the latency [s] and the bandwidth [bytes/s].
NETWORK = """
import statistics, time, torch
import torch.distributed as ranks
ranks.init_process_group("gloo")
def seconds(numbers):
    value, times = torch.zeros(numbers, dtype=torch.float64), []
    for _ in range(50):
        ranks.barrier()
        start = time.perf_counter()
        ranks.all_reduce(value)
        times.append(time.perf_counter() - start)
    return statistics.median(times[10:])
small, large = seconds(1), seconds(1 << 20)
if ranks.get_rank() == 0:
    print(small, 16 * (1 << 20) / (large - small))
ranks.destroy_process_group()
"""
MEANING = """
## What it means

This section is written by hand about the tables above.

- Communication costs 5 % in training and 1 to 2 % elsewhere.
- The lattice and the grid reach the aim for two ranks. The RBM, the ResNet, \
annealing and training miss
  it by 0.03 to 0.08.

What is open: GPUs, and more than two cores, have not been measured.
"""
# The values of these options are divided between ranks.
SHARED = re.compile(r"(--(?:chains|batch|buffer|repeats)) (\d+)")


def environment(rank, size, port):
    variables = dict(os.environ, OMP_WAIT_POLICY="passive")
    if size > 1:
        variables.update(RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank),
                         LOCAL_WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    return variables


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def rate(program, arguments, read, size, folder, apart=False):
    """Returns the throughput of `size` ranks, or of `size` processes apart."""
    port = free_port()
    if apart:
        arguments = SHARED.sub(lambda found: f"{found[1]} {int(found[2]) // size}", arguments)
    command = [program, *arguments.split(), "--device", "cpu", "--threads", "1", "--quiet"]
    command = [str(folder / word) if word == "grid.toml" else word for word in command]
    outs = [folder / f"out-{time.monotonic_ns()}-{process if apart else 0}"
            for process in range(size if apart else 1)]
    start = time.perf_counter()
    processes = [subprocess.Popen([*command, "--out", str(outs[process if apart else 0])], cwd=ROOT,
                                  stdout=subprocess.DEVNULL,
                                  env=environment(process, 1 if apart else size, port))
                 for process in range(size)]
    if any([process.wait() for process in processes]):
        raise SystemExit(f"failed: {' '.join(command)}")
    seconds = time.perf_counter() - start
    return min(read(out) for out in outs) if read else 1 / seconds


def measured(program, repeats):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "grid.toml").write_text(GRID)
        for work, (arguments, read, least) in WORK.items():
            one, two, apart = [], [], []
            for _ in range(repeats):
                one.append(rate(program, arguments, read, 1, folder))
                two.append(rate(program, arguments, read, 2, folder))
                apart.append(rate(program, arguments, read, 2, folder, apart=True))
            row = work, arguments, told(two, one), told(apart, one), told(two, apart), least
            print(row[0], *row[2:], sep=" | ", flush=True)
            yield row


def network(size):
    """Returns the time of a small sum between `size` processes [s] and the bandwidth of a large one
    [bytes/s]."""
    port = free_port()
    command = [sys.executable, "-c", NETWORK]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                  env=environment(rank, size, port) |
                                  {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"})
                 for rank in range(size)]
    said = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise SystemExit("PyTorch's Gloo failed between processes of this machine")
    return [float(number) for number in said[0].split()]


def sending(small, bandwidth, states, parameters):
    """Returns the seconds of an iteration's gather and sum by docs/guide/many-gpus.md; `small` is
    2·l·log₂R, measured as a whole."""
    return 2 * small + (states + 16 * parameters) / bandwidth


def scaling(program, repeats):
    """Yields the speed of training on 1, 2 and 4 ranks, predicted from one rank, and measured."""
    cores = os.cpu_count()
    arguments, read, _ = WORK[TRAINING]
    batch = int(re.search(r"--batch (\d+)", arguments)[1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rates = {size: max(rate(program, arguments, read, size, folder) for _ in range(repeats))
                 for size in (1, 2, 4)}
        weights = torch.load(next(folder.glob("out-*/weights.pt")))
        parameters = sum(value.numel() for value in weights.values())
        sites = torch.load(next(folder.glob("out-*/checkpoints/*.pt")),
                           weights_only=False)["buffer"].size(1)
    for size, measured_rate in rates.items():
        small, bandwidth = network(size) if size > 1 else (0, math.inf)
        computing = 1 / rates[1] / min(size, cores)
        sent = sending(small, bandwidth, batch * sites, parameters)
        yield size, computing, sent, (1 / (computing + sent)) / rates[1], measured_rate / rates[1]


def told(rates, of_one):
    """Returns the ratio of the best rates as text, and the quartiles of the ratios of runs in
    turn."""
    low, median, high = statistics.quantiles([rate / one for rate, one in zip(rates, of_one)], n=4)
    return f"{max(rates) / max(of_one):.2f} ({low:.2f}, {median:.2f}, {high:.2f})"


def page(rows, scales, program, repeats):
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    version = subprocess.run([program, "--version"], capture_output=True, text=True,
                             check=True).stdout.strip()
    text = """# Two ranks beside one

This page shows how much faster two ranks (processes) with one thread each are than one process with
one thread, for the same number of chains, images or cells in total.

| | two ranks, times as fast | two processes apart, times as fast | ranks / processes apart | \
aim for two ranks |
| --- | --- | --- | --- | --- |
"""
    for work, _, *figures in rows:
        text += f"| {work} | {' | '.join(str(figure) for figure in figures)} |\n"
    text += f"""
Figures are ratios of throughputs: of the best of {repeats} runs, which other work on the machine
disturbed least, and in parentheses the quartiles of the ratios of runs in turn. *Two processes
apart* do half of the work each without communication, and the slower one counts, because ranks wait
for the slowest. What these lose, through a smaller batch or the memory that the cores share, ranks
cannot win. The third column does not include this loss.

## Predicted and measured scaling of training

The training of the table above on 1, 2 and 4 ranks, beside [the
formulas](../guide/many-gpus.md#how-it-scales). They start from the time of one rank.
{os.cpu_count()} cores compute for as many ranks at once, so that 4 ranks compute no faster than 2.
Communication is timed apart, by sums of PyTorch's Gloo between as many processes. The formulas do
not contain the cost of a smaller batch. The best of {repeats} runs counts.

| ranks | computing, ms | sending, ms | times as fast, predicted | measured |
| --- | --- | --- | --- | --- |
"""
    for size, computing, sent, predicted, found in scales:
        text += (f"| {size} | {1e3 * computing:.1f} | {1e3 * sent:.1f} | {predicted:.2f} "
                 f"| {found:.2f} |\n")
    text += f"""
## How it was measured

`.venv/bin/python scripts/pages/ranks_speed.py` wrote this page: {version},
{processor[1] if processor else platform.machine()}, two cores. One process, two ranks and two
processes apart took turns, {repeats} times. No GPU was measured. The commands:

```text
"""
    for work, arguments, *_ in rows:
        text += f"# {work.replace('`', '')}\nisinglass {arguments}\n"
    return text + "```\n" + MEANING


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="?", default=str(ROOT / "build/isinglass"))
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    rows = list(measured(arguments.program, arguments.repeats))
    scales = list(scaling(arguments.program, arguments.repeats))
    PAGE.write_text(page(rows, scales, arguments.program, arguments.repeats), encoding="utf-8")


if __name__ == "__main__":
    main()
