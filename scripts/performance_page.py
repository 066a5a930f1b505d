#!/usr/bin/env python3
"""Times the steps of ResNet-64, a 50x50 Ising lattice and an RBM of 500 hidden units.

    scripts/performance_page.py OUT.md [--chains B] [--repeats N] [--threads T]

Every row is what `isinglass bench` measured: stages in turn within one run, medians over rounds.
Uses build/isinglass and the Python of .venv. Run it on a machine that does nothing else.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build" / "isinglass"

NETWORK = ["--model", "resnet", "--channels", "64"]
LATTICE = ["--model", "ising", "--weights", "ising.pt"]
MACHINE = ["--model", "rbm", "--image", "28x28", "--hidden", "500"]
STEP = ["--stages", "energy-gradient,step"]
CASES = {
    "ResNet-64 on 28x28, new weights": [
        NETWORK + ["--sampler", "pafs", "--radius", "5", "--steps-per-iter", "10"],
        NETWORK + ["--sampler", "gwg", *STEP]],
    "Ising, 50x50, open boundary, J = 0.5, random fields; after 2000 steps": [
        LATTICE + ["--burn-in", "2000", "--sampler", *sampler, "--stages", "step"]
        for sampler in (["gwg"], ["pafs", "--radius", "5"], ["nb", "--radius", "5"], ["lb"],
                        ["pas", "--radius", "5"], ["gibbs"], ["gibbs", "--scan", "chromatic"],
                        ["lbj", "--tau", "0.1"], ["dlp"])],
    "RBM, 784 visible and 500 hidden units, new weights": [
        MACHINE + ["--sampler", *sampler, *STEP]
        for sampler in (["gwg"], ["pafs", "--radius", "5"], ["lbj", "--tau", "0.1"])],
}


def ising(file, side=50, coupling=0.5):
    """Each edge once; fields 0.5 + 1.5 N(0, 1) of a fixed seed."""
    site = torch.arange(side * side).view(side, side)
    edges = torch.cat([torch.stack([site[:-1].flatten(), site[1:].flatten()], 1),
                       torch.stack([site[:, :-1].flatten(), site[:, 1:].flatten()], 1)])
    field = 0.5 + 1.5 * torch.randn(side * side, generator=torch.Generator().manual_seed(0))
    torch.save({"edges": edges, "coupling": torch.full([len(edges)], coupling), "field": field},
               file)


def rows(case, arguments, folder):
    command = [PROGRAM, "bench", *case, "--chains", str(arguments.chains), "--repeats",
               str(arguments.repeats), "--threads", str(arguments.threads), "--json", "--quiet"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder)
    result = json.loads(done.stdout)
    shown = "isinglass " + " ".join(command[1:-2])
    lines = [f"`{shown}`", "", "| stage | median, ms | least to most | GFLOP/s | GB/s |",
             "| --- | --- | --- | --- | --- |"]
    for stage in result["stages"] + result["bounds"]:
        t = stage["milliseconds"]
        rate = lambda name: f"{stage[name]:.3g}" if name in stage else ""
        lines.append(f"| {stage['name']} | {t['median']:.4g} | {t['least']:.4g} to {t['most']:.4g} "
                     f"| {rate('gflop_per_second')} | {rate('gigabytes_per_second')} |")
    return result["machine"], "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--chains", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        ising(pathlib.Path(folder) / "ising.pt")
        for title, cases in CASES.items():
            parts.append(f"## {title}\n")
            for case in cases:
                machine, table = rows(case, arguments, folder)
                parts.append(table)
                print(table, flush=True)
    head = f"""# Performance

Written by `scripts/performance_page.py docs/results/performance.md --chains {arguments.chains} --repeats
{arguments.repeats} --threads {arguments.threads}` on {machine['cores']} cores of a {machine['cpu']}, without a GPU. Times of
one call for all chains; each table is one run, whose stages take turns.
"""
    arguments.page.write_text("\n".join([head, *parts]), encoding="utf-8")


if __name__ == "__main__":
    main()
