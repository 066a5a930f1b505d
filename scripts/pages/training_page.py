#!/usr/bin/env python3
"""Writes docs/results/rbm-training.md and docs/results/resnet-pilots.md: models of static MNIST,
trained with different settings and evaluated by log Z from both ends.

    .venv/bin/python scripts/pages/training_page.py {rbm|resnet} --data-dir DIR [--program FILE]
        [--threads N] [--only TEXT]

Runs are stored in runs/training/. A complete run is not repeated. --only runs the rows whose name
contains TEXT and writes no page.
"""
import argparse
import json
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPLITS = ("train", "validation", "test")


@dataclass
class Table:
    page: str
    text: str       # title and first sentence
    meaning: str    # discussion of the table, written by hand
    train: str      # flags of all trainings
    evaluate: str   # flags of all evaluations
    ways: dict      # name of a row: flags of its training, iterations, and the weights evaluated


LINEAR, SHORT = "--lr 3e-3 --lr-schedule linear", 12500
SCORED = "--lr 3e-3 --evaluate-every 1250 --evaluate-steps 5000"
RBM = Table(
    page="rbm-training.md",
    text="""# Training an RBM

This page compares settings of persistent contrastive divergence (PCD) for an RBM with 500 hidden
units on static MNIST.""",
    meaning="""- In 12500 iterations, a learning rate of 3e-3 gives better likelihoods than 1e-3, \
and a rate that
  falls linearly to zero is better than a constant one at 3e-3 and worse at 1e-3.
- Weight decay brings the train and test likelihoods closer together. With it, 45000 iterations give
  the best test likelihood of the table.
- Centring does not improve the likelihood here, and neither does the checkpoint that validates
  best.

What is open: six of eight verdicts are open, and each row is a single seed. Differences of less
than a nat between open rows are uncertain.""",
    train="--model rbm --hidden 500 --dataset static-mnist --sampler gibbs --scan chromatic "
          "--steps-per-iter 5 --buffer 2000 --batch 100 --warmup 100 --ema 0.999 "
          "--checkpoint-every 2500",
    evaluate="--model rbm --dataset static-mnist --sampler gibbs --scan chromatic --path joint "
             "--schedule adaptive --chains 100 --steps 10000 --reverse",
    ways={
        "rate 1e-3, constant": ("--lr 1e-3", SHORT, "ema"),
        "rate 3e-3, constant": (SCORED, SHORT, "ema"),
        "the same, the checkpoint that validates best": (SCORED, SHORT, "best"),
        "rate 1e-3, falls linearly": ("--lr 1e-3 --lr-schedule linear", SHORT, "ema"),
        "rate 3e-3, falls linearly": (LINEAR, SHORT, "ema"),
        "the same, centred": (f"{LINEAR} --centre", SHORT, "ema"),
        "rate 3e-3, falls linearly, weight decay .1":
            (f"{LINEAR} --weight-decay 0.1", SHORT, "ema"),
        "the same, longer": (f"{LINEAR} --weight-decay 0.1", 45000, "ema"),
    })

COSINE = "--lr 1.5e-4 --lr-schedule cosine"
RESNET = Table(
    page="resnet-pilots.md",
    text="""# Pilots of a ResNet

This page compares settings of persistent contrastive divergence (PCD) for a ResNet on static MNIST,
in short trainings of about equal time. Every row differs from the first one in the setting that it
names.""",
    meaning="""- In equal time the first row, 16 channels with 10 steps an iteration, \
has the best likelihood,
  closely followed by 8 channels.
- 32 channels and 20 steps an iteration leave time for fewer iterations and reach less. 5 steps give
  more iterations, and reach less, too.
- Twice the learning rate is worse. Without the weight on squared energies the run diverged twice
  and is worse, too.
- Tempered chains in training cost time, and 6 nats of the likelihood after equal time.

What is open: three of eight verdicts are open, each row is a single seed, and the machine's other
core was busy, so that minutes vary.""",
    train="--model resnet --dataset static-mnist --gradient-precision bf16 --sampler pafs "
          "--radius 8 --base --buffer 1000 --batch 100 --warmup 200 --ema 0.995 "
          "--checkpoint-every 250",
    evaluate="--model resnet --dataset static-mnist --gradient-precision bf16 --sampler pafs "
             "--radius 8 --adapt --method tempering --chains 10 --steps 3000",
    ways={
        "16 channels, 10 steps, rate 1.5e-4":
            (f"--channels 16 --steps-per-iter 10 --l2 1e-4 {COSINE}", 1500, "ema"),
        "8 channels": (f"--channels 8 --steps-per-iter 10 --l2 1e-4 {COSINE}", 1900, "ema"),
        "32 channels": (f"--channels 32 --steps-per-iter 10 --l2 1e-4 {COSINE}", 850, "ema"),
        "5 steps": (f"--channels 16 --steps-per-iter 5 --l2 1e-4 {COSINE}", 2300, "ema"),
        "20 steps": (f"--channels 16 --steps-per-iter 20 --l2 1e-4 {COSINE}", 850, "ema"),
        "rate 3e-4": ("--channels 16 --steps-per-iter 10 --l2 1e-4 --lr 3e-4 --lr-schedule cosine",
                      1500, "ema"),
        "no weight on squared energies":
            (f"--channels 16 --steps-per-iter 10 {COSINE}", 1500, "ema"),
        "30 rungs of tempered chains":
            (f"--channels 16 --steps-per-iter 10 --l2 1e-4 --rungs 30 {COSINE}", 1150, "ema"),
    })
TABLES = {"rbm": RBM, "resnet": RESNET}


def run(command, out, flags, options):
    if not (out / "done").exists():
        subprocess.run([options.program, command, *map(str, flags), "--data-dir", options.data_dir,
                        "--threads", str(options.threads), "--quiet", "--out", out, "--overwrite"],
                       check=True, stdout=subprocess.DEVNULL)
        (out / "done").touch()


def row(name, table, options):
    """Trains and evaluates one row, and returns its line of the table."""
    flags, iters, weights = table.ways[name]
    directory = ROOT / "runs/training" / re.sub(r"[ -]+", "-", f"{options.table} {iters} {flags}")
    trained, evaluated = directory / "run", directory / weights
    run("train", trained, [*table.train.split(), *flags.split(), "--iters", iters], options)
    run("evaluate", evaluated, [*table.evaluate.split(), "--weights", trained / f"{weights}.pt"],
        options)
    last = json.loads((trained / "metrics.jsonl").read_text().splitlines()[-1])
    found = json.loads((evaluated / "ais.json").read_text())
    verdict = found["verdict"] if found["verdict"] == "closed" else f"open: {found['reason']}"
    nats = " | ".join(f"{found['log_likelihood'][split]['bidirectional']:.2f}" for split in SPLITS)
    return (f"| {name} | {iters} | {last['seconds'] / 60:.1f} | {last.get('recoveries', 0):.0f} | "
            f"{nats} | {found['bracket']:.2f} | {verdict} |")


def page(table, rows, options):
    lines = "\n".join(rows)
    return f"""{table.text}

Log-likelihoods are in nats an image, by log Z from both ends. Settings are chosen by the validation
images; the test images are shown beside them.

| training | iterations | minutes | recoveries | train | validation | test | bracket | verdict |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
{lines}

*Minutes* are those of the training, with the evaluations during it. A *recovery* is a return to an
earlier iteration after a [divergence](../howto/training-diverges.md). The *bracket* is the
difference between the upper and the lower estimate of log Z, in nats; a verdict is closed if the
bracket is below one nat and the chains have mixed.

## How it was measured

`scripts/pages/training_page.py {options.table}` wrote this page on {platform.machine()},
{options.threads} thread. It runs, with the settings of a row in place of `…`,

```
isinglass train {table.train} … --iters N --data-dir DIR --out RUN
isinglass evaluate {table.evaluate} --weights RUN/ema.pt --data-dir DIR --out OUT
```

## What it means

This section is written by hand about the table above.

{table.meaning}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--program", default=ROOT / "build/isinglass")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only")
    options = parser.parse_args()
    table, rows = TABLES[options.table], []
    for name in table.ways:
        if options.only and options.only not in name:
            continue
        rows.append(row(name, table, options))
        print(rows[-1], flush=True)
    if not options.only:
        (ROOT / "docs/results" / table.page).write_text(page(table, rows, options),
                                                        encoding="utf-8")


if __name__ == "__main__":
    main()
