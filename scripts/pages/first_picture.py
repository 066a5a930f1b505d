#!/usr/bin/env python3
"""Draws docs/images/first.png, the picture of the README, from runs of build/isinglass.

    .venv/bin/python scripts/pages/first_picture.py docs/images/first.png [--program FILE]

Left: chains of pafs on the committed MNIST network, from random pixels to digits. Right: the mean
energy of the chains of several samplers over their model calls. Takes two minutes on one
core, and matplotlib, which comes with the tests' packages.
"""
import argparse
import pathlib
import subprocess
import tempfile

import matplotlib
import torch
from PIL import Image

matplotlib.use("Agg")
from matplotlib import pyplot

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEIGHTS = ROOT / "weights" / "static-mnist-resnet16.pt"
CHAINS, STEPS, SHOWN = 24, 3000, 7
AT = (0, 30, 100, 300, 1000, 3000)  # steps shown, 0 being the start
SAMPLERS = {"pafs": ["--radius", "8"], "dlp": ["--step-size", "0.15"],
            "gwg": [], "rwm": []}


def run(program, sampler, flags, start, folder):
    """(states [steps, chains, 784], mean energy [steps]) of a run from the states `start`."""
    torch.save(start, folder / "start.pt")
    subprocess.run([program, "sample", "--model", "resnet", "--weights", str(WEIGHTS), "--sampler",
                    sampler, *flags, "--chains", str(CHAINS), "--steps", str(STEPS), "--init",
                    str(folder / "start.pt"), "--seed", "2", "--quiet", "--overwrite", "--out",
                    str(folder / "run")], check=True, stdout=subprocess.DEVNULL)
    draws = torch.load(folder / "run" / "samples.pt")
    return draws["samples"], draws["energy"].mean(1)


def grid(states):
    """One picture: a row per chain, a column per shown step, with white lines between."""
    rows = [torch.cat(
        [torch.nn.functional.pad(1 - step[chain].view(28, 28).float(), (2, 2, 2, 2), value=0.6)
         for step in states], 1) for chain in range(SHOWN)]
    return torch.cat(rows, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("picture", type=pathlib.Path)
    parser.add_argument("--program", default=ROOT / "build" / "isinglass")
    arguments = parser.parse_args()
    start = torch.bernoulli(torch.full([CHAINS, 784], 0.5),
                            generator=torch.Generator().manual_seed(1))
    start = start.to(torch.uint8)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.6, 4.9), width_ratios=(6, 5))
    with tempfile.TemporaryDirectory() as folder:
        for sampler, flags in SAMPLERS.items():
            states, energy = run(arguments.program, sampler, flags, start, pathlib.Path(folder))
            if sampler == "pafs":
                picture = grid([start if step == 0 else states[step - 1] for step in AT])
            label = " ".join([sampler, *flags]).replace("--", "")
            right.plot(torch.arange(1, STEPS + 1), energy, label=label)
    left.imshow(picture, cmap="gray", vmin=0, vmax=1)
    left.set_xticks([16 + 32 * column for column in range(len(AT))], AT)
    left.set_yticks([])
    left.set_xlabel("step")
    left.set_title("chains of pafs on an energy-based model of MNIST", fontsize=10)
    left.tick_params(length=0)
    for side in left.spines.values():
        side.set_visible(False)
    right.set_xscale("log")
    right.set_xlabel("model calls per chain")
    right.set_ylabel("energy U(x), mean over chains")
    right.set_title(f"samplers on the same model, {CHAINS} chains each", fontsize=10)
    right.grid(alpha=0.3)
    right.legend(frameon=False, fontsize=9)
    figure.tight_layout()
    figure.savefig(arguments.picture, dpi=110)
    with Image.open(arguments.picture) as image:  # noise does not compress; 128 colours do for it
        image.convert("RGB").quantize(128).save(arguments.picture, optimize=True)


if __name__ == "__main__":
    main()
