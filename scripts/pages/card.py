#!/usr/bin/env python3
"""Writes the card of trained weights from what their run and their evaluation recorded.

    scripts/pages/card.py RUN EVALUATION WEIGHTS.pt [--note TEXT]

RUN is a directory of `isinglass train`, EVALUATION one of `isinglass evaluate` on the weights. Makes
WEIGHTS.md and WEIGHTS.png (the buffer's sample grid) beside the weights. No number is typed by hand.
"""
import argparse
import json
import pathlib
import shutil
import tomllib

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("run", type=pathlib.Path)
parser.add_argument("evaluation", type=pathlib.Path)
parser.add_argument("weights", type=pathlib.Path)
parser.add_argument("--iterations", type=int, help="the iteration of the weights, if the run went on")
parser.add_argument("--note", default="")
arguments = parser.parse_args()


def command(name, directory):
    config = tomllib.loads((directory / "config.toml").read_text())
    if name == "train" and arguments.iterations:
        config["iters"] = arguments.iterations
    if "weights" in config:
        config["weights"] = arguments.weights.name
    skipped = {"data-dir", "device", "threads"}
    flags = " ".join(f"--{key} {value:g}" if isinstance(value, float) else f"--{key} {value}"
                     for key, value in config.items()
                     if key not in skipped and not isinstance(value, bool))
    return f"isinglass {name} {flags} --data-dir DIR --out OUT"


def revisions(ais):
    return "revision " + ", then ".join(f"`{r}`" for r in ais.get("earlier_revisions", []) + [ais["revision"]])


def options(ais):
    return ", ".join(f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}"
                     for key, value in ais["sampler_options"].items()) or "no options"


ais = json.loads((arguments.evaluation / "ais.json").read_text())
lines = [json.loads(line) for line in (arguments.run / "metrics.jsonl").read_text().splitlines()]
iterations = arguments.iterations or lines[-1]["iteration"]
last = next(line for line in lines if line["iteration"] == iterations)
config = tomllib.loads((arguments.run / "config.toml").read_text())
grid = arguments.run / "samples" / f"{iterations:08d}.png"
shutil.copyfile(grid, arguments.weights.with_suffix(".png"))

splits = ("train", "validation", "test")


def row(title, values):
    return f"| {title} | " + " | ".join(number(values[s]) for s in splits) + " |"


def number(value):
    return "not measured" if value is None else f"{value:.2f}"


def bound(key):
    return {s: ais["log_likelihood"][s][key] for s in splits}


def estimate(value, error):
    return f"{ais[value]:.2f} ± " + ("undefined" if ais[error] is None else f"{ais[error]:.2f}")


ends = f"""forward: {estimate("log_z", "log_z_se")}, effective sample size of the weights {ais["weight_ess"]:.1f} of {ais["chains"]}"""
if "log_z_upper" in ais:
    start = ais["reverse_start"]
    rhat = "not known" if start["rhat"] is None else f"{start['rhat']:.3f}"
    steps = f" of {start['steps']} steps" if "steps" in start else ""
    ends += f"""\\
reverse: {estimate("log_z_upper", "log_z_upper_se")}, effective sample size {ais["weight_ess_reverse"]:.1f}; started from {start["from"]}{steps}, R̂ {rhat}\\
both: {estimate("log_z_bidirectional", "log_z_bidirectional_se")}"""
verdict = ais["verdict"] + (f": {ais['reason']}" if ais["reason"] else "")
curve = "\n".join(f"| {t} | {z:.2f} |" for t, z in ais["curve"])
size = f"{config['hidden']} hidden units" if config["model"] == "rbm" else f"{config['channels']} channels"
arguments.weights.with_suffix(".md").write_text(f"""# {arguments.weights.name}

{"An" if config["model"] == "rbm" else "A"} {config["model"]} EBM with {size}, trained on `{config["dataset"]}` by persistent
contrastive divergence; these are the averaged (EMA) parameters after iteration {iterations}. Until then the run took
{last["seconds"] / 60:.0f} minutes, evaluations and checkpoints included, on {config["threads"]} CPU thread(s). {arguments.note}

![chains of the replay buffer after iteration {iterations}]({arguments.weights.stem}.png)

## How it was trained
```
{command("train", arguments.run)}
```
At iteration {iterations}: acceptance {last["acceptance"]:.2f}, {last["hops"]:.1f} hops per step,
U(data) − U(chains) = {last["difference"]:.1f}.

## What it is of

| | SHA-256 (`docs/reference/files.md`) |
| --- | --- |
| parameters | `{ais["parameters_sha256"]}` |
| data `{config["dataset"]}` | `{ais["data_sha256"]}` |

Evaluated by {revisions(ais)} with the sampler {ais["sampler"]} ({options(ais)}).

## Annealed importance sampling
```
{command("evaluate", arguments.evaluation)}
```
**Verdict: {verdict}.** The test images have {ais["log_likelihood_text"]["test"]}.

log Z, {ais["seconds"]:.0f} s in all:\\
{ends}

| log-likelihood, nats an image | {" | ".join(splits)} |
| --- | --- | --- | --- |
{row("this model, forward", bound("forward"))}
{row("this model, in reverse", bound("reverse"))}
{row("this model, both ways", bound("bidirectional"))}
{row("independent pixels (clamped mean)", ais["baseline"])}

| temperatures | log Z |
| --- | --- |
{curve}

{ais["note"]} The table shows how far the estimate still moves with the number of temperatures.
""")
