#!/usr/bin/env python3
"""Times the steps of ResNet-64, a 50x50 Ising lattice and an RBM of 500 hidden units.

    scripts/pages/performance_page.py OUT.md [--chains B] [--repeats N] [--threads T]
                                [--peers FILE.json…]

Every row is a measurement of `isinglass bench`: the stages take turns within one run, and the row
gives medians over rounds. The rows of scripts/pages/performance_samples.py are runs of `isinglass
sample`. The script uses build/isinglass and the Python of .venv. Run it on an idle machine. A file
of --peers has the times of a step of published programs, measured on the same machine just before:
{"row": {"median_s": …}}.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import torch

import performance_samples

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "isinglass"
WEIGHTS = ROOT / "weights" / "static-mnist-resnet16.pt"

NETWORK = ["--model", "resnet", "--channels", "64"]
LATTICE = ["--model", "ising", "--weights", "ising.pt"]
MACHINE = ["--model", "rbm", "--image", "28x28", "--hidden", "500"]
STEP = ["--stages", "energy-gradient,step"]
CASES = {
    "ResNet-64 on 28x28, new weights": [
        NETWORK + ["--sampler", "pafs", "--radius", "5", "--steps-per-iter", "10"],
        NETWORK + ["--sampler", "gwg", *STEP],
        NETWORK + ["--sampler", "pafs", "--radius", "5", "--steps-per-iter", "10",
                   "--gradient-precision", "bf16"]],
    "Ising, 50x50, open boundary, J = 0.5, fields against the lattice's centre; after 2000 steps": [
        LATTICE + ["--burn-in", "2000", "--sampler", *sampler, "--stages", "step"]
        for sampler in (["gwg"], ["pafs", "--radius", "5"], ["nb", "--radius", "5"], ["lb"],
                        ["pas", "--radius", "5"], ["gibbs"], ["gibbs", "--scan", "chromatic"],
                        ["lbj", "--tau", "0.1"], ["dlp"])],
    "RBM, 784 visible and 500 hidden units, new weights": [
        MACHINE + ["--sampler", *sampler, *STEP]
        for sampler in (["gwg"], ["pafs", "--radius", "5"], ["lbj", "--tau", "0.1"])] + [
        MACHINE + ["--sampler", "gibbs", "--scan", "chromatic", "--stages", "step"]],
}


# For each row of a published program: the flags and the stage of ours that it is compared with.
DISCS = {f"{model} {theirs}": (model, ours, "step")
         for model in ("ising", "rbm", "resnet")
         for theirs, ours in (("gwg fixed(1)", ["gwg"]), ("path_auxiliary fixed(5)", ["pafs"]),
                              ("dlmc", ["lbj"]), ("dmala", ["dlp"]))}
PEERS = {
    "GWG gwg": ("resnet", ["gwg"], "step"),
    "PAS mscorrect-5 (PAFS)": ("resnet", ["pafs"], "step"),
    "PAS pafs-5 (PAFS)": ("resnet", ["pafs"], "step"),
    "GWG AIS step": ("resnet", ["pafs"], "ais-step"),
    "GWG PCD iteration (10 gwg steps)": ("resnet", ["pafs"], "training-iteration"),
    "thrml 200 sweeps, last state kept": ("ising", ["gibbs", "chromatic"], "step"),
    "RBM(GWG) block Gibbs sweep": ("rbm", ["gibbs", "chromatic"], "step"),
    **DISCS}


def ising(file, side=50, coupling=0.5):
    """Writes a lattice with an open boundary. Fields are minus (uniform in ±1.5, plus 0.5 in a
    central disc, minus 0.5 outside)."""
    site = torch.arange(side * side).view(side, side)
    edges = torch.cat([torch.stack([site[:-1].flatten(), site[1:].flatten()], 1),
                       torch.stack([site[:, :-1].flatten(), site[:, 1:].flatten()], 1)])
    noise = 2 * torch.rand(side, side, generator=torch.Generator().manual_seed(0)) - 1
    place = torch.arange(side) / side - 0.5
    centre = place[:, None] ** 2 + place[None] ** 2 < 0.5 / torch.pi
    field = -(1.5 * noise + torch.where(centre, 0.5, -0.5)).flatten()
    torch.save({"edges": edges, "coupling": torch.full([len(edges)], coupling), "field": field},
               file)


def peer_rows(files, ours):
    """Returns a table of the ratios of the published programs' step times to ours."""
    lines = ["| published program | its time, ms | ours, ms | times as fast |",
             "| --- | --- | --- | --- |"]
    for name, row in (item for file in files for item in json.loads(file.read_text()).items()):
        if name not in PEERS:
            continue
        model, flags, stage = PEERS[name]
        its = 1000 * row["median_s"]
        for case, medians in ours:
            if model in case and all(flag in case for flag in flags) and stage in medians:
                shown = " ".join(case[case.index("--sampler"):])
                program = f"DISCS {name}" if name in DISCS else name
                lines.append(f"| {program} | {its:.4g} | {medians[stage]:.4g} "
                             f"(`{stage}`, `{shown}`) | {its / medians[stage]:.3g} |")
    return "\n".join(lines) + "\n"


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
        flops, bytes_moved = (f"{stage[name]:.3g}" if name in stage else ""
                              for name in ("gflop_per_second", "gigabytes_per_second"))
        lines.append(f"| {stage['name']} | {t['median']:.4g} | {t['least']:.4g} to {t['most']:.4g} "
                     f"| {flops} | {bytes_moved} |")
    medians = {stage["name"]: stage["milliseconds"]["median"] for stage in result["stages"]}
    return result["machine"], medians, "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--chains", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peers", type=pathlib.Path, nargs="*", default=[])
    arguments = parser.parse_args()
    parts, ours = [], []
    with tempfile.TemporaryDirectory() as folder:
        ising(pathlib.Path(folder) / "ising.pt")
        for title, cases in CASES.items():
            parts.append(f"## {title}\n")
            for case in cases:
                machine, medians, table = rows(case, arguments, folder)
                parts.append(table)
                ours.append((case, medians))
                print(table, flush=True)
        parts.append(performance_samples.sections(PROGRAM, WEIGHTS, arguments, folder))
    if arguments.peers:
        parts.insert(0, "## Beside published programs\n\nStep times in the same hour on the same "
                        "machine, medians.\n")
        parts.insert(1, peer_rows(arguments.peers, ours))
    head = f"""# Performance

This page has the times of all stages on a CPU, beside published programs, and the effective samples
per second. [The discussion](performance-discussion.md) is written by hand: revise it when the
tables change.

`scripts/pages/performance_page.py docs/results/performance.md --chains {arguments.chains} \
--repeats {arguments.repeats} --threads {arguments.threads}`
measured it on {machine['cores']} cores of a {machine['cpu']}, without a GPU. Times are those of one
call for all chains. Each table of stages is one run, in which the stages take turns; the command
stands above it.
"""
    arguments.page.write_text("\n".join([head, *parts]), encoding="utf-8")


if __name__ == "__main__":
    main()
