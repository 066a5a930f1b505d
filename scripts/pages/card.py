#!/usr/bin/env python3
"""Writes the card of trained weights from what their run and their evaluation recorded.

    scripts/pages/card.py RUN… EVALUATION WEIGHTS.pt [--iterations N] [--where TEXT] [--note TEXT]
        [--tempered SAMPLES] [--samples SAMPLES] [--published FORWARD]
    scripts/pages/card.py [EVALUATION] WEIGHTS.pt [--tempered SAMPLES] [--published FORWARD]

RUN is a directory of `isinglass train`; each of several began with the weights of the one before,
and the last one's weights are WEIGHTS. EVALUATION is a directory of `isinglass evaluate` on them.
The script writes WEIGHTS.md and WEIGHTS.png (the sample grid of the replay buffer; --samples: draws
of `isinglass sample` in its place) beside the weights. With --tempered, a directory of `isinglass
sample --rungs`, it also writes WEIGHTS-tempered.png. Draws are drawn by build/isinglass or
$ISINGLASS_BINARY. FORWARD is a directory of `isinglass evaluate --no-reverse --schedule linear`,
as in published evaluations. Without RUN or EVALUATION the script keeps the parts of the existing
card that do not depend on them.
No number is typed by hand.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

# An evaluation does not rewrite these sections.
TRAINED, TEMPERED = "How it was trained", "Samples from tempered chains"
PUBLISHED = "By forward annealing alone, as in the papers"
# Chains and temperatures of the evaluation of GWG_release (its README.md).
THEIR_CHAINS, THEIR_TEMPERATURES = 500, 300_000
SPLITS = ("train", "validation", "test")


def command(name, directory, weights, iterations=None):
    config = tomllib.loads((directory / "config.toml").read_text())
    if iterations:
        config["iters"] = iterations
    if "weights" in config:  # training began with others
        config["weights"] = (weights.name if name != "train"
                             else pathlib.Path(config["weights"]).name)
    if "base-model" in config:
        kind, file = config["base-model"].split("=", 1)
        config["base-model"] = f"{kind}={pathlib.Path(file).name}"
    skipped = {"data-dir", "device", "threads"}
    flags = " ".join(flag(key, value)
                     for key, value in config.items() if key not in skipped and value is not False)
    if config.get("method") == "ais" and not config.get("reverse", True):
        flags += " --no-reverse"
    data = " --data-dir DIR" if "dataset" in config else ""
    return f"isinglass {name} {flags}{data} --out OUT"


def flag(key, value):
    if value is True:
        return f"--{key}"
    return f"--{key} {value:g}" if isinstance(value, float) else f"--{key} {value}"


OBJECTIVES = {"pcd": "persistent contrastive divergence", "cd": "contrastive divergence",
              "nce": "noise-contrastive estimation"}


def read_run(run, iterations=None):
    """Returns the configuration of a run and the metrics of its last iteration, or of this one."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    count = iterations or lines[-1]["iteration"]
    last = next(line for line in lines if line["iteration"] == count)
    return tomllib.loads((run / "config.toml").read_text()), last


def draw(samples, image, picture):
    root = pathlib.Path(__file__).resolve().parents[2]
    subprocess.run([os.environ.get("ISINGLASS_BINARY", root / "build/isinglass"), "inspect",
                    samples, "--image", image, "--out", picture], check=True,
                   stdout=subprocess.DEVNULL)


def training(runs, weights, arguments):
    """Returns the head of the card and the section on the training."""
    count = arguments.iterations
    found = [read_run(run, count if run == runs[-1] else None) for run in runs]
    config, last = found[-1]
    count = last["iteration"]
    size = (f"{config['hidden']} hidden units" if config["model"] == "rbm"
            else f"{config['channels']} channels")
    base = ""
    if config["model"] == "residual":
        kind, file = config["base-model"].split("=", 1)
        name = pathlib.Path(file).stem
        whose = (f"of [{name}]({name}.md)" if weights.with_name(f"{name}.md").exists()
                 else "that is in the same file")
        base = f"\nIts network corrects the {kind} {whose} by at most {config['bound']:g} nats."
    by = ", then by ".join(OBJECTIVES[one["objective"]] for one, _ in found)
    minutes = " and ".join(f"{line['seconds'] / 60:.0f}" for _, line in found)
    picture = weights.with_suffix(".png")
    if arguments.samples:
        draw(arguments.samples, config["image"], picture)
        shown = "draws of the model"
    else:
        shutil.copyfile(runs[-1] / "samples" / f"{count:08d}.png", picture)
        shown = f"chains of the replay buffer after iteration {count}"
    head = f"""# {weights.name}

{"An" if config["model"] == "rbm" else "A"} {config["model"]} EBM with {size}, \
trained on `{config["dataset"]}` by {by}.{base}
The file holds the averaged (EMA) parameters after iteration {count}. Training took
{minutes} minutes up to there, evaluations and checkpoints included, \
on {arguments.where or f"{config['threads']} CPU thread(s)"}. {arguments.note}

![{shown}]({weights.stem}.png)
"""
    section = "\n".join(f"""```
{command("train", run, weights, arguments.iterations if run == runs[-1] else None)}
```
""" for run in runs)
    if "log_ratio_data" in last:
        section += f"""
At iteration {count}: the mean log-ratio of network and base is {last["log_ratio_data"]:.1f} nats
at images and {last["log_ratio_noise"]:.1f} at draws of the base."""
    else:
        section += f"""
At iteration {count}: acceptance {last["acceptance"]:.2f}, \
{last["hops"]:.1f} sites changed per step,
U(data) − U(chains) = {last["difference"]:.1f}."""
    return head, section


def tempered_chains(samples, weights):
    """Returns the section on states that tempered chains reach from random states, and draws its
    picture."""
    config = tomllib.loads((samples / "config.toml").read_text())
    if config.get("init") != "random":
        sys.exit(f"card.py: {samples} did not begin at random states, as the card would state")
    image = config.get("image", "28x28")
    picture = weights.with_name(f"{weights.stem}-tempered.png")
    draw(samples, image, picture)
    found = json.loads((samples / "summary.json").read_text())
    ladder, chains, thin = found["tempering"], found["chains"], found["thin"]
    draws = max(1, min(64 // chains, found["draws"]))
    when = (f"Every {thin} scans, after {found['burn_in']} of burn-in" if draws > 1
            else f"After {found['burn_in'] + found['steps_done']} scans")
    return f"""![states at β = 1 of ensembles of tempered chains]({picture.name})

These are the states at β = 1 of {min(chains, 64)} ensembles of {ladder["rungs"]} tempered chains. \
All chains began at random
states; neither data nor states of the training take part. {when},
the picture has the state of each ensemble. Each ensemble made {ladder["round_trips"]:.4g} round \
trips on average.
```
{command("sample", samples, weights)}
```"""


def revisions(found):
    return ("revision " +
            ", then ".join(f"`{r}`"
                           for r in found.get("earlier_revisions", []) + [found["revision"]]))


def options(found):
    return ", ".join(f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}"
                     for key, value in found["sampler_options"].items()) or "no options"


def estimate(value, error):
    return f"{value:.2f} ± " + ("undefined" if error is None else f"{error:.2f}")


def of_annealing(found):
    """Returns the estimates of log Z, forward and, where it was run, in reverse."""
    text = (f"forward: {estimate(found['log_z'], found['log_z_se'])}, effective sample "
            f"size of the weights {found['weight_ess']:.1f} of {found['chains']}")
    if "log_z_upper" not in found:
        return text
    start = found["reverse_start"]
    rhat = "not known" if start["rhat"] is None else f"{start['rhat']:.3f}"
    steps = f" of {start['steps']} steps" if "steps" in start else ""
    both = estimate(found["log_z_bidirectional"], found["log_z_bidirectional_se"])
    return text + (f"\\\nreverse: {estimate(found['log_z_upper'], found['log_z_upper_se'])}, "
                   f"effective sample size {found['weight_ess_reverse']:.1f}; started from "
                   f"{start['from']}{steps}, R̂ {rhat}\\\nboth: {both}")


def of_tempering(found):
    ladder = found["tempering"]
    up, down = (estimate(found[end], found[f"{end}_se"]) if f"{end}_se" in found
                else f"{found[end]:.2f}" for end in ("log_z", "log_z_upper"))
    return (f"going up the ladder: {up}\\\n"
            f"going down: {down}\\\n"
            f"both: {estimate(found['log_z_bidirectional'], found['log_z_bidirectional_se'])}; "
            f"{ladder['rungs']} rungs, {ladder['round_trips']:.4g} round trips of each of "
            f"{found['chains']} ensembles, R̂ {found['rhat']:.3f}")


def row(title, values):
    return (f"| {title} | " +
            " | ".join("not measured" if values[s] is None else f"{values[s]:.2f}"
                       for s in SPLITS) + " |")


def bits_per_dimension(found):
    """Returns a table, or nothing for an evaluation by a program that did not write bits per
    dimension."""
    if "baseline_bits_per_dim" not in found:
        return ""
    return f"""| bits per dimension ({found["verdict"]}) | {" | ".join(SPLITS)} |
| --- | --- | --- | --- |
{row("this model, the likelihood to quote", found["bits_per_dim"])}
{row("independent pixels (clamped mean)", found["baseline_bits_per_dim"])}

"""


def likelihood(found, directory, weights):
    """Returns the section on the likelihood: verdict, tables, log Z and the command."""
    tempered = found["method"] == "tempering"
    verdict = found["verdict"] + (f": {found['reason']}" if found["reason"] else "")
    sides = ({"forward": "up", "reverse": "down"} if tempered
             else {"forward": "forward", "reverse": "in reverse"})
    rows = [row(f"this model, {name}", {s: found["log_likelihood"][s][key] for s in SPLITS})
            for key, name in {**sides, "bidirectional": "both ways"}.items()]
    rows.append(row("independent pixels (clamped mean)", found["baseline"]))
    newline = "\n"
    curve = "\n".join(f"| {count} | {z:.2f} |" for count, z in found["curve"])
    unit = "scans" if tempered else "temperatures"
    method = "parallel tempering" if tempered else "annealed importance sampling"
    return f"""## Log-likelihood, by {method}

**Verdict: {verdict}.** The test images have {found["log_likelihood_text"]["test"]}.

| log-likelihood, nats an image | {" | ".join(SPLITS)} |
| --- | --- | --- | --- |
{newline.join(rows)}

{bits_per_dimension(found)}log Z, {found["seconds"]:.0f} s in all, \
on {found["threads"]} CPU thread(s):\\
{of_tempering(found) if tempered else of_annealing(found)}

| {unit} | log Z |
| --- | --- |
{curve}

{found["note"]} The table shows how far the estimate still moves with the number of {unit}.

```
{command("evaluate", directory, weights)}
```
"""


def published_protocol(directory, weights, card):
    """Returns the section on forward annealing alone, as published evaluations do it."""
    found = json.loads((directory / "ais.json").read_text())
    config = tomllib.loads((directory / "config.toml").read_text())
    if "log_z_upper" in found or config.get("schedule") != "linear":
        sys.exit(f"card.py: {directory} is not by forward annealing alone on a linear schedule")
    if found["parameters_sha256"] not in card:
        sys.exit(f"card.py: {directory} is of other parameters than {weights}")
    ours = {s: found["log_likelihood"][s]["forward"] for s in SPLITS}
    return f"""Published likelihoods of deep EBMs are of this kind: annealing from the base to the \
model, β in equal
steps, without a check from the other end. Here {found["chains"]} chains take {config["steps"]} \
temperatures; published ones
are {THEIR_CHAINS}, with {THEIR_TEMPERATURES}.

| log-likelihood, nats an image | {" | ".join(SPLITS)} |
| --- | --- | --- | --- |
{row("forward annealing alone", ours)}

log Z, {found["seconds"]:.0f} s on {found["threads"]} CPU thread(s), {of_annealing(found)}

```
{command("evaluate", directory, weights)}
```"""


def checksums(found):
    """Returns the section on the data, the parameters and the program of the evaluation."""
    return f"""## Checksums

| | SHA-256 (`docs/reference/files.md`) |
| --- | --- |
| parameters | `{found["parameters_sha256"]}` |
| data `{found["dataset"]}` | `{found["data_sha256"]}` |

Evaluated by {revisions(found)}
with the sampler {found["sampler"]} ({options(found)}).
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=pathlib.Path, nargs="+", metavar="PATH",
                        help="[[RUN…] EVALUATION] WEIGHTS.pt")
    parser.add_argument("--iterations", type=int,
                        help="the iteration of the weights, if the run went on")
    parser.add_argument("--where", help="the machine, if the run was not on the CPU threads of its "
                                        "configuration alone")
    parser.add_argument("--note", default="")
    parser.add_argument("--tempered", type=pathlib.Path, metavar="SAMPLES",
                        help="chains of `isinglass sample --rungs`")
    parser.add_argument("--published", type=pathlib.Path, metavar="FORWARD",
                        help="forward annealing alone, `isinglass evaluate --no-reverse`")
    parser.add_argument("--samples", type=pathlib.Path,
                        help="chains of `isinglass sample`, for a run without chains of the model")
    arguments = parser.parse_args()
    *runs, weights = arguments.paths
    evaluation = runs.pop() if runs else None
    card = weights.with_suffix(".md")
    kept, head, tail = {}, "", ""
    if not runs:
        head, *parts = re.split(r"^## (.*)\n", card.read_text(), flags=re.M)
        kept = dict(zip(parts[::2], parts[1::2]))
        estimated, checked = parts[0], "Checksums"
        measured = f"## {estimated}\n{kept[estimated]}"
        tail = f"## {checked}\n{kept[checked]}"
    else:
        head, kept[TRAINED] = training(runs, weights, arguments)
    if evaluation:
        found = json.loads((evaluation / "ais.json").read_text())
        measured, tail = likelihood(found, evaluation, weights), checksums(found)
    if arguments.published:
        kept[PUBLISHED] = published_protocol(arguments.published, weights, tail)
    if arguments.tempered:
        kept[TEMPERED] = tempered_chains(arguments.tempered, weights)
    sections = "".join(f"## {title}\n\n{kept[title].strip()}\n\n"
                       for title in (PUBLISHED, TRAINED, TEMPERED) if title in kept)
    card.write_text(f"{head.strip()}\n\n{measured.strip()}\n\n{sections}{tail.strip()}\n")


if __name__ == "__main__":
    main()
