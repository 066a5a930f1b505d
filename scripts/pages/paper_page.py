#!/usr/bin/env python3
"""Writes docs/guide/from-a-paper.md: table or figure → preset, command, seconds, result, from the
committed results.

    scripts/pages/paper_page.py [--check]

With --check nothing is written, and the exit code is 1 unless the page holds this already.
"""
import csv
import json
import statistics
import sys
import tomllib
from pathlib import Path

from page_file import write_or_check

ROOT = Path(__file__).resolve().parents[2]
PRESETS, RESULTS, PAGE = (ROOT / "lab/presets/grids", ROOT / "docs/results",
                          ROOT / "docs/guide/from-a-paper.md")
BUILT_IN = ("strokes", "ring-points", "strip-points", "ising-grid")  # data sets that need no files
# The rows were made with these flags.
EXTRA = {"ab-deep": "--weights weights/static-mnist-resnet16-11000.pt"}
UNMEASURED_SCALE = "0.0005"  # that of ebm-static-mnist, for the presets that have no rows
UNITS = {"ess_per_step": "ESS per step", "ess_per_evaluation": "ESS per model call",
         "ess_per_second": "ESS per second, one chain", "acceptance": "acceptance",
         "hops": "hops per step", "mmd": "MMD", "burn_in_time": "steps of burn-in",
         "final_energy": "mean energy", "least_energy": "least energy",
         "right_share": "share at right modes", "mean_error": "error of the mean",
         "calls_to_right": "model calls", "coupling_rmse": "error of the couplings",
         "test_nats": "nats per test image"}

# A paper is its name, its title, its rows (table or figure, preset or None, note) and what has no
# preset.
PAPERS = [
    ("PAS and PAFS", "Sun, Dai, Xia & Ramamurthy 2022, *Path auxiliary proposal for MCMC in "
                     "discrete space*.", [
        ("figure 1", "parity", ""),
        ("figure 2", "permutation", ""),
        ("figures 9 and 12", "ising-50", ""),
        ("figures 10 and 13", "ising-100", ""),
        ("figures 11 and 14", "ising-150", ""),
        ("figures 3 and 4", "ising-200", ""),
        ("figures 5 and 15–19", "fhmm", ""),
        ("figures 6, 7 and 20–22", "rbm",
         "The preset has GWG, PAFS and NB of figure 7's samplers."),
        ("figure 8", "ising-learning", "On a 10×10 torus; the paper has 25×25."),
        ("table 1, static MNIST", "ebm-static-mnist", ""),
        ("table 1, dynamic MNIST", "ebm-mnist",
         "One network, on an RBM: [−81.4 nats, closed](../results/images.md)."),
        ("table 1, Omniglot", "ebm-omniglot",
         "One network, on an RBM, of other data than the paper's: "
         "[−93.7 nats, closed](../results/images.md)."),
        ("table 1, Caltech", "ebm-caltech",
         "One network, by `pafs`: [−109.0 to −110.3 nats, open](../results/images.md)."),
        ("table 2, seconds a batch", None,
         "No preset: `isinglass bench` times a step and an iteration of training "
         "([CPU](../results/performance.md), [H100](../results/gpu.md))."),
    ], ""),
    ("LBJ", "Sun, Dai, Dai, Zhou & Schuurmans 2022, *Discrete Langevin sampler via Wasserstein "
            "gradient flow*. Figure 1 repeats one target of each of figures 3 to 10.", [
        ("figures 1 and 3", "lbj-bernoulli", ""),
        ("figures 1 and 4", "lbj-categorical", ""),
        ("figures 1 and 5", "lbj-ising", ""),
        ("figures 1 and 6", "lbj-potts", ""),
        ("figures 1, 7 and 8", "lbj-fhmm", ""),
        ("figures 1 and 9", "lbj-rbm", ""),
        ("table 1, static MNIST", "ebm-static-mnist", "The same runs as for PAS above."),
        ("table 1, dynamic MNIST, Omniglot, Caltech", "ebm-mnist",
         "`ebm-omniglot` and `ebm-caltech` likewise."),
        ("table 1, Frey Faces", "ebm-freyfaces",
         "One network, by `pafs`: [5.20 bits per dimension, open](../results/images.md)."),
        ("table 1, Histopathology", "ebm-histopathology", ""),
    ], "Without a preset: figure 10 (categorical RBMs of Fashion-MNIST) and figure 2 (pictures; "
       "those of our networks are on [their cards](../../weights/README.md))."),
    ("AB", "Sun, Dai, Sutton, Schuurmans & Dai 2023, *Any-scale balanced samplers for discrete "
           "space*. Table 1 repeats the middle columns of tables 2 to 5.", [
        ("figure 1", "alpha-sigma", ""),
        ("tables 1, 2 and 3", "ab-ising", ""),
        ("tables 1, 4 and 5", "ab-gaussian", ""),
        ("figure 2", "ab-logistic", ""),
        ("figure 3", "ab-quartic", ""),
        ("figure 4", "ab-deep", "One network of static MNIST; the paper has three data sets."),
    ], "Without a preset: figure 5 (drawings of two graphs) and figure 6 (pictures)."),
    ("LSB", "Sansone 2022, *LSB: Local self-balancing MCMC in discrete spaces*. The presets learn "
            "with one hidden layer of 10 units; `--monotonic` takes the paper's "
            "monotonic network.", [
        ("table 2, figures 2 and 6", "lsb-ising", ""),
        ("figure 4", "lsb-rbm", ""),
        ("table 3, figures 5, 7 and 8", "lsb-bayesnet",
         "On generated networks: the paper's are "
         "[files of your own](../howto/data-sets.md#networks-of-the-uai-competition)."),
    ], "Without a preset: table 1 (a summary), figures 1 and 3 (pictures) and figure 9 (a network "
       "fitted to a function)."),
    ("FHL", "*Follow Hamiltonian Leader: an efficient energy-guided sampling method*. "
            "[What we measured](../results/leader.md) says more of figures 6 and 13.", [
        ("figure 4a", "fhl-image",
         "Around an image of the built-in strokes; the paper's is a logo."),
        ("figure 5", "fhl-flat", ""),
        ("figures 3 and 6", "fhl-mixture", ""),
        ("figures 7 and 15", "fhl-jem",
         "A small classifier of MNIST; the paper's is a residual network of CIFAR-10."),
        ("figure 8", "fhl-score", ""),
        ("figure 13", "fhl-rings", ""),
        ("figure 14", "fhl-fashion", "20 images of a class; the paper has 100."),
    ], "Without a preset: figures 1 and 2 (sketches), 4b (the same by a learned energy), 9, 10 and "
       "16–20 (diffusion models of CLEVR), 11 and 12 (gradient descent)."),
]

HEAD = """# From a paper to a command

This page leads from a table or figure of the five [papers](../../README.md#papers) to the command
that repeats it here, the time that it took, and the result. It is generated by
`scripts/pages/paper_page.py` from the committed results; a test compares the two.

A *preset* is a grid of `isinglass ablate`: targets × samplers × settings × repeats, and the paper's
claims as rules that [give a verdict](../reference/grid-files.md#claims). \
This is the smallest one, at a
tenth of its work:

```sh
build/isinglass ablate --preset parity --scale 0.1 --out runs/parity
build/isinglass report runs/parity
```

`runs/parity/report.html` then has the tables, the charts and the verdicts. In the commands below

- `--scale` is the share of the preset's full work (chains × steps, or training). Without it the
  preset runs in full.
- `--until-converged SECONDS` runs a setting again, each time twice as long, until R-hat is at most
  1.05.
- `--data-dir DIR` names the folder of the [image files](../howto/data-sets.md) that a preset reads;
  `isinglass data fetch NAME` downloads them.
- `--resume runs/PRESET` continues a grid that was stopped.

## How to read the tables

**Seconds** are the sum over the rows of `docs/results/PRESET/results.csv`. \
They cover the kept steps
of every run, on one core of a two-core CPU (`--threads 1`). They do not cover burn-in, the shorter
runs before chains converged, or the training of a preset's networks. For the presets `ebm-*` and
`ising-learning`, whose runs train, they cover the training and not its evaluation. The machines had
other work, so read them as orders of magnitude. A run of more than 100 s that took more than 20 \
times
the median of its table is called an outlier. Two ranks share the runs of a grid
([how](many-gpus.md), [how fast](../results/ranks.md)). *Not measured* means that no rows are
committed. No preset was run on a GPU; [the page of the H100](../results/gpu.md) has times of steps
and of training.

**Runs** counts the committed rows. Some presets have got longer sweeps and more repeats since then,
so that the same command makes more runs today.

**Results** are the verdicts of the committed rows. The numbers are means: the best setting of the
paper's sampler, then the best setting of the others. For a claim about several targets the table
says on how many the paper's sampler has the better mean, which is less than a verdict. *Undecided*
is no verdict against a paper: it says that these runs cannot tell, and
[verdicts](../results/verdicts.md) gives the reason. † marks targets smaller than the paper's; the
preset's page names them.
"""


def number(value):
    size = abs(value)
    if size >= 100:
        return f"{value:.0f}" if size >= 1000 else f"{value:.1f}"
    return f"{value:#.3g}" if size >= 1e-3 else f"{value:.2g}"


def setting(side):
    return " ".join([side["sampler"], *(f"--{key}" if value == "true" else f"--{key} {value}"
                                        for key, value in sorted(side["settings"].items()))])


def evidence(claim):
    """The means behind a claim: both numbers of one target, or on how many targets the first side
    is ahead."""
    models = [m for m in claim["models"] if m.get("difference") is not None]
    if not models:
        return "no number"
    if len(claim["models"]) > 1:
        return (f"ahead on {sum(m['difference'] > 0 for m in models)} of "
                f"{len(claim['models'])} targets")
    who, than, unit = models[0]["who"], models[0]["than"], UNITS[claim["metric"]]
    if claim["rule"] == "degrades-less":
        unit = f"share of the {unit} kept at the largest {claim['axis']}"
    return (f"`{setting(who)}` {number(who['value'])}, `{setting(than)}` "
            f"{number(than['value'])}: {unit}")


def needs_files(table):
    """Whether a preset reads image files: a data set anywhere in it that is not built in."""
    if isinstance(table, list):
        return any(needs_files(entry) for entry in table)
    return isinstance(table, dict) and any(
        key == "dataset" and not str(value).startswith(BUILT_IN) or needs_files(value)
        for key, value in table.items())


def command(preset, result):
    grid = tomllib.loads((PRESETS / f"{preset}.toml").read_text(encoding="utf-8"))
    words = [f"build/isinglass ablate --preset {preset}",
             f"--scale {result['scale']:g}" if result else f"--scale {UNMEASURED_SCALE}"]
    if result and result.get("until_converged"):
        words.append(f"--until-converged {result['until_converged']:g}")
    if preset in EXTRA:
        words.append(EXTRA[preset])
    if needs_files(grid):
        words.append("--data-dir data")
    return " ".join([*words, f"--out runs/{preset}"]).replace(" --scale 1 ", " ")


def taken(preset):
    """The number of runs and the sum of their seconds; the seconds of outliers are also stated
    apart."""
    with (RESULTS / preset / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    seconds = [float(row["seconds"]) for row in rows if row["seconds"]]
    stalled = [s for s in seconds if s > 100 and s > 20 * statistics.median(seconds)]
    note = (f", {sum(stalled):.0f} of them in {len(stalled)} outlier{'s' * (len(stalled) > 1)}"
            if stalled else "")
    return str(len(rows)), f"{sum(seconds):.0f}{note}"


def table(rows, results):
    text = ("| in the paper | preset | share of its work | runs | seconds | our result |\n"
            "| --- | --- | --- | --- | --- | --- |\n")
    for figure, preset, note in rows:
        result = results.get(preset)
        cells = [f"`{preset}`" if preset else "", "", "", "not measured" if preset else "", note]
        if result:
            mark = "†" if result.get("smaller") else ""
            cells[1:4] = [f"{result['scale']:g}", *taken(preset)]
            lines = [f"{claim['claim']}: **{claim['verdict']}**{mark} ({evidence(claim)})"
                     for claim in result["claims"]]
            cells[4] = "<br>".join([*lines, *([note] if note else []),
                                    f"[page](../results/{preset}/report.html)"])
        text += "| " + " | ".join([figure, *(cell.replace("|", "\\|") for cell in cells)]) + " |\n"
    return text


def page():
    results = {file.parent.name: json.loads(file.read_text(encoding="utf-8"))
               for file in sorted(RESULTS.glob("*/results.json"))}
    listed = {preset for _, _, rows, _ in PAPERS for _, preset, _ in rows if preset}
    known = {file.stem for file in PRESETS.glob("*.toml")}
    if listed - known or set(results) - listed or known - listed != {"rbm-learning"}:
        sys.exit("presets that this page does not know, or that are no more: "
                 f"{(listed ^ known) - {'rbm-learning'}}")
    text, shown = HEAD, set()
    for title, paper, rows, without in PAPERS:
        text += f"\n## {title}\n\n{paper}\n\n{table(rows, results)}"
        presets = [preset for _, preset, _ in rows if preset and preset not in shown]
        shown.update(presets)
        text += ("\n```sh parse\n" +
                 "\n".join(command(preset, results.get(preset)) for preset in presets) + "\n```\n")
        text += f"\n{without}\n" if without else ""
    return text + ("\nThe preset `rbm-learning` is of no paper of the five: it compares "
                   "contrastive divergence, persistent or not, on an RBM. It is not measured; "
                   "[training an RBM](../results/rbm-training.md) has single runs.\n")


if __name__ == "__main__":
    write_or_check(PAGE, page(), "results")
