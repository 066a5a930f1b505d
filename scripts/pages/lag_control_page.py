#!/usr/bin/env python3
"""Compares trainings with and without `--lr-control lag`.

    scripts/pages/lag_control_page.py RUNS PAGE.md --data-dir DIR [--seeds N] [--iters T]

RUNS is a folder for the trainings and evaluations; those that it has are not made again. The page
is written after each. $ISINGLASS_BINARY is the program (default: build/isinglass). That of revision
68378dd2 writes the metric log_z, which the page compares with tempering; it has been removed since.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ISINGLASS_BINARY", str(ROOT / "build/isinglass"))
LAST = 100  # iterations whose log Z is averaged; the rate has fallen to nearly 0
RBM = ["--model", "rbm", "--hidden", "500", "--sampler", "gibbs", "--scan", "chromatic",
       "--steps-per-iter", "5", "--warmup", "100", "--lr-schedule", "linear", "--weight-decay",
       "0.04", "--dataset", "static-mnist", "--evaluate-every", "0", "--ema", "0"]
# A setting: the words of the page, and its flags.
SETTINGS = [(f"{rate}, buffer of {buffer}{', lag' if lag else ''}",
             ["--lr", rate, "--buffer", buffer, *(["--lr-control", "lag"] if lag else [])])
            for rate, buffer in (("3e-3", "2000"), ("3e-3", "100"))
            for lag in (False, True)]


def run(command, directory, done):
    """Runs a command unless its directory has the file `done`."""
    if not (directory / done).exists():
        subprocess.run([PROGRAM, *command, "--quiet", "--overwrite", "--out", str(directory)],
                       check=True)


def log_mean(values):
    """Returns log mean exp of the values, and the standard error of that for independent ones."""
    top = max(values)
    terms = [math.exp(v - top) for v in values]
    mean = statistics.mean(terms)
    return top + math.log(mean), statistics.stdev(terms) / mean / math.sqrt(len(terms))


def measured(folder, name, flags, seed, arguments):
    """Trains and evaluates; returns the numbers of a row."""
    training = folder / f"{name.replace(' ', '-').replace(',', '')}-{seed}"
    data = ["--data-dir", arguments.data_dir, "--threads", "1", "--seed", str(seed)]
    run(["train", *RBM, *flags, "--iters", str(arguments.iters), "--checkpoint-every",
         str(arguments.iters), *data], training, "weights.pt")
    evaluation = training / "evaluation"
    run(["evaluate", "--model", "rbm", "--weights", str(training / "weights.pt"), "--method",
         "tempering", "--chains", "20", "--steps", "5000", "--dataset", "static-mnist", *data],
        evaluation, "ais.json")
    lines = [json.loads(line) for line in (training / "metrics.jsonl").read_text().splitlines()]
    found = json.loads((evaluation / "ais.json").read_text())
    row = {"seconds": lines[-1]["seconds"], "verdict": found["verdict"],
           "validation": found["log_likelihood"]["validation"]["bidirectional"],
           "test": found["log_likelihood"]["test"]["bidirectional"],
           "log_z": found["log_z_bidirectional"], "error": found["log_z_bidirectional_se"]}
    if "lag_share" in lines[-1]:
        row["paused"] = sum(line["lag_share"] < 0.5 for line in lines) / len(lines)
    if "log_z" in lines[-1]:
        last = lines[-LAST:]
        row["online"], row["online_error"] = log_mean([line["log_z"] for line in last])
        row["ess"] = statistics.mean(line["log_z_ess"] for line in last)
    return row


def page(rows, revision, arguments):
    table = online = ""
    for name, seed, r in rows:
        paused = f"{100 * r['paused']:.0f} %" if "paused" in r else ""
        table += (f"| {name} | {seed} | {r['seconds'] / 60:.1f} | {r['validation']:.2f} | "
                  f"{r['test']:.2f} | {r['verdict']} | {paused} |\n")
        if "online" in r:
            online += (f"| {name} | {seed} | {r['log_z']:.2f} ± {r['error']:.2f} | "
                       f"{r['online']:.2f} ± {r['online_error']:.2f} | "
                       f"{r['online'] - r['log_z']:+.2f} | {r['ess']:.0f} |\n")
    removed = "" if not online else f"""
## log Z by the work on the chains

The works of the control also give log Z of a model while it learns (Jarzynski 1997; Carbone et al.
2023). Revision 68378dd2 had this as a metric, and agreed with enumeration when the parameters
changed by a fixed plan. In training it is useless, and it has been removed:

| learning rate, buffer, control | seed | log Z, tempering | log Z, work | difference | ESS |
| --- | ---: | ---: | ---: | ---: | ---: |
{online}
*log Z, work* is the mean over the last {LAST} iterations, when the rate has fallen to nearly 0,
with the standard error that follows from their spread. *ESS* is the mean effective sample size of
the 100 chains of an iteration, which shows nothing of the error. A likely reason is that the
identity holds for chains on which the change of the parameters does not depend, while every update
raises the energy of the very chains that it was computed from, so that their works are too large
and log Z too small.
"""
    return f"""# A learning rate that follows the chains

This page compares persistent contrastive divergence with and without `--lr-control lag`
([what it does](../concepts/training.md#a-rate-that-the-chains-can-follow)), for RBMs with 500
hidden units on static MNIST.

| learning rate, buffer, control | seed | minutes | validation | test | verdict | no update |
| --- | ---: | ---: | ---: | ---: | --- | ---: |
{table}
*Validation* and *test* are mean log-likelihoods in nats an image, by parallel tempering. *No
update* is the share of the iterations that only moved their chains.

## How it was measured

`scripts/pages/lag_control_page.py RUNS docs/results/lag-control.md --data-dir DIR \
--seeds {arguments.seeds} --iters {arguments.iters}`
wrote this page with {revision}. Each training is, on one thread,

```
isinglass train {" ".join(RBM)} --iters {arguments.iters} --lr … --buffer … \
[--lr-control lag] --seed …
```

and each evaluation `isinglass evaluate --model rbm --weights weights.pt --method tempering --chains
20 --steps 5000` with the same seed. Minutes are those of a machine that did other work besides.

## What it means

- The control costs likelihood: it holds the rate so low that a training of this length ends far
  from where it ends without. It is for trainings that diverge otherwise; lower `--lr` first.
- These are single trainings, of one model and one length. Other seeds and models were not compared.
- A smaller buffer, whose chains are drawn more often, is held back less.
{removed}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=pathlib.Path)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--iters", type=int, default=10000)
    arguments = parser.parse_args()
    arguments.runs.mkdir(parents=True, exist_ok=True)
    revision = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True,
                              text=True).stdout.strip()
    rows = []
    for seed in range(arguments.seeds):
        for name, flags in SETTINGS:
            rows.append((name, seed, measured(arguments.runs, name, flags, seed, arguments)))
            rows.sort(key=lambda row: [name for name, _ in SETTINGS].index(row[0]))
            arguments.page.write_text(page(rows, revision, arguments), encoding="utf-8")


if __name__ == "__main__":
    main()
