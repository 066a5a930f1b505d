#!/usr/bin/env python3
"""Solves published instances of maximum cut, QUBO, maximum clique and independent set by annealing
at its defaults; writes docs/results/combinatorial.json and .md.

    .venv/bin/python scripts/pages/combinatorial_page.py FOLDER [--part cut,qubo,clique,independent]
        [--program P] [--instances G14,G22,…] [--seeds 1,2,3] [--jobs N]
    scripts/pages/combinatorial_page.py --check

FOLDER holds published files: qubo/gka1a.sparse (Biq Mac's) and clique/brock200_2.clq (DIMACS's).
Graphs for cuts are built in, and those for independent sets are drawn here. A run that is in
combinatorial.json is not repeated, so that a command that was cut off goes on. A run that has not
reached the best published value is followed by a longer one. scripts/pages/optima.json has the
published values.
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import textwrap
import threading
from pathlib import Path

from page_file import processor

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs/results/combinatorial.json"
PAGE = ROOT / "docs/results/combinatorial.md"
OPTIMA = json.loads((ROOT / "scripts/pages/optima.json").read_text())
# Holds, of each part: the model, the seconds of a run and of its repetition if it has not reached
# the best published value, and the file of an instance.
PARTS = {"cut": ("maxcut", (10, 60), None), "qubo": ("qubo", (1, 10), "qubo/{}.sparse"),
         "clique": ("maxclique", (3, 20), "clique/{}.clq"), "independent": ("mis", (10,), None)}
MOST_QUBO_SITES = 250
# Goshvadi et al. (2023), DISCS: means over 128 graphs of 700 to 800 vertices, PAS on a V100.
ERDOS_RENYI = {"ER-0.15": (0.15, 44.57), "ER-0.05": (0.05, 105.06)}
GRAPHS = 4


def instances_of(part, folder):
    """Returns the names of the instances of a part."""
    if part == "independent":
        return [f"{kind}-{i}" for kind in ERDOS_RENYI for i in range(GRAPHS)]
    if part == "cut":
        return list(OPTIMA["maxcut"])
    model, _, file = PARTS[part]
    names = [name for name in OPTIMA[model] if (folder / file.format(name)).exists()]
    return names if part != "qubo" else [
        name for name in names
        if int((folder / file.format(name)).read_text().split()[0]) <= MOST_QUBO_SITES]


def drawn_graph(name, folder):
    """Writes G(n, p) as an edge list, n uniform in 700 … 800; the name is the seed."""
    draw = random.Random(name)
    p = ERDOS_RENYI[name.rsplit("-", 1)[0]][0]
    n = draw.randint(700, 800)
    edges = [f"{i} {j}" for i in range(n) for j in range(i) if draw.random() < p]
    file = folder / f"{name}.txt"
    file.write_text(f"{n} {len(edges)}\n" + "\n".join(edges) + "\n")
    return file


def reached(part, name, value):
    """Returns whether a value is as good as every published one; True if none is known."""
    model = PARTS[part][0]
    published = OPTIMA.get(model, {}).get(name, {}).values()
    return all(value <= best if model == "qubo" else value >= best for best in published)


def solved(program, part, name, seed, seconds, folder):
    """Anneals an instance for some seconds and returns what the results hold of it, or None if its
    temperatures are not found in this time."""
    model, _, file = PARTS[part]
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "run"
        if part == "cut":
            target = ["--instance", f"gset:{name}"]
        else:
            graph = folder / file.format(name) if file else drawn_graph(name, Path(scratch))
            target = ["--model", model, "--weights", str(graph)]
        done = subprocess.run(
            [program, "sample", *target, "--anneal", "auto", "--time", str(seconds), "--seed",
             str(seed), "--threads", "1", "--device", "cpu", "--no-samples", "--quiet", "--out",
             str(out)],
            capture_output=True, text=True, check=False)
        if "which leaves none for steps" in done.stderr:
            return None
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr}")
        summary = json.loads((out / "summary.json").read_text())
    best, annealing = summary["best"], summary["annealing"]
    return {"part": part, "instance": name, "seed": seed, "time": seconds,
            "sites": summary["sites"],
            "value": best["value"], "found_by": best["found_by"], "chains": summary["chains"],
            "steps": summary["burn_in"] + summary["steps"], "temperatures": summary["anneal"],
            "seconds": round(annealing["seconds"], 2),
            "time_to_solution": annealing["time_to_solution"], "revision": summary["revision"]}


def measure(options):
    """Makes the runs that the results lack, and writes the results after each."""
    folder = Path(options.folder)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"runs": []}
    results["machine"] = f"{os.cpu_count()} cores of {processor()}"
    wanted = [(part, name, seed) for seed in options.seeds for part in options.part
              for name in instances_of(part, folder)
              if not options.instances or name in options.instances]

    def tried(part, name, seed):
        """Runs an instance for longer and longer until a published value is reached."""
        for seconds in PARTS[part][1]:
            run = next((run for run in results["runs"] if (part, name, seed, seconds) == (
                run["part"], run["instance"], run["seed"], run["time"])), None)
            if run is None:
                run = solved(options.program, part, name, seed, seconds, folder)
                if run is None:
                    continue
                with writing:
                    keep(results, run)
            if reached(part, name, run["value"]):
                return

    writing = threading.Lock()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for task in [pool.submit(tried, *run) for run in wanted]:
            task.result()


def keep(results, run):
    """Adds a run to the results and writes their file."""
    print(run["instance"], run["seed"], run["time"], run["value"], flush=True)
    results["runs"].append(run)
    results["runs"].sort(key=lambda run: (
        list(PARTS).index(run["part"]), number_in(run["instance"]), run["seed"], run["time"]))
    rows = ",\n  ".join(json.dumps(run) for run in results["runs"])
    machine = json.dumps(results["machine"])
    RESULTS.write_text(f'{{"machine": {machine}, "runs": [\n  {rows}\n]}}\n')


def number_in(name):
    """Returns the key that sorts G2 before G10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def table(columns, rows):
    """Returns a Markdown table; the first column is text and the others are numbers."""
    lines = [f"| {' | '.join(columns)} |", f"| --- |{' ---: |' * (len(columns) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(str(entry) for entry in row)} |" for row in rows)])


def number(value):
    return "" if value is None else f"{value:g}" if value < 1e4 else f"{value:.0f}"


def by_instance(results, part):
    """Returns {instance: the longest run of each seed} of a part."""
    longest = {}
    for run in results["runs"]:
        if run["part"] == part:
            longest.setdefault(run["instance"], {})[run["seed"]] = run
    return {name: list(runs.values()) for name, runs in longest.items()}


def seconds(runs):
    """Returns the least and the greatest time of the runs [s]."""
    times = sorted({run["time"] for run in runs})
    return f"{times[0]} to {times[-1]}" if len(times) > 1 else times[0]


def values(runs):
    return ", ".join(number(run["value"]) for run in runs)


def time_to_solution(runs):
    """Returns the median over the runs of the time to the best value of all [s]; a run that has
    not found this value has no time."""
    sign = -1 if runs[0]["part"] == "qubo" else 1
    best = max((run["value"] for run in runs), key=lambda value: sign * value)
    times = [run["time_to_solution"] for run in runs if run["value"] == best]
    return "" if len(times) < len(runs) else f"{statistics.median(times):.2g}"


def cut_section(results):
    published = OPTIMA["maxcut"]
    rows, reached, below = [], {"iSCO": [0, 0], "BLS": [0, 0]}, []
    for name, runs in by_instance(results, "cut").items():
        best = max(run["value"] for run in runs)
        for method, counts in reached.items():
            if method in published[name] and (method == "iSCO" or runs[0]["sites"] <= 2000):
                counts[0] += best >= published[name][method]
                counts[1] += 1
        if runs[0]["sites"] <= 2000 and best < published[name]["BLS"]:
            below.append(f"{name} ({best - published[name]['BLS']:g})")
        rows.append([name, runs[0]["sites"], values(runs), seconds(runs), published[name]["BLS"],
                     *(published[name].get(method, "") for method in ("iSCO", "MCPG", "Gurobi")),
                     time_to_solution(runs)])
    text = (f"The best of the seeds reaches or exceeds iSCO's value on {reached['iSCO'][0]} of "
            f"{reached['iSCO'][1]} graphs, and that of BLS on {reached['BLS'][0]} of "
            f"{reached['BLS'][1]} graphs of up to 2000 vertices"
            + (f"; below it are {', '.join(below)}" if below else "") + ".")
    return wrapped(text) + "\n\n" + table(
        ["graph", "vertices", "cut, each seed", "seconds", "BLS", "iSCO", "MCPG", "Gurobi, 1 h",
         "time to solution [s]"], rows)


def optimum_section(results, part):
    """Returns how many optima were found, and a table of the instances, of QUBO only of those whose
    optimum was missed."""
    model = PARTS[part][0]
    sign = -1 if model == "qubo" else 1
    rows, found = [], 0
    grouped = by_instance(results, part)
    for name, runs in grouped.items():
        optimum = OPTIMA[model][name]["optimum"]
        hits = sum(sign * run["value"] >= sign * optimum for run in runs)
        found += hits == len(runs)
        if model != "qubo" or hits < len(runs):
            rows.append([name, runs[0]["sites"], values(runs), seconds(runs), optimum,
                         time_to_solution(runs)])
    text = f"The optimum is found, by every seed, of {found} of {len(grouped)} instances."
    columns = ["instance", "sites", "value, each seed", "seconds", "published",
               "time to solution [s]"]
    return text + ("\n\n" + table(columns, rows) if rows else "")


def independent_section(results):
    rows = []
    for kind, (p, published) in ERDOS_RENYI.items():
        sizes = [max(run["value"] for run in runs)
                 for name, runs in by_instance(results, "independent").items()
                 if name.startswith(kind)]
        if sizes:
            rows.append([f"p = {p}", len(sizes), ", ".join(number(size) for size in sizes),
                         f"{statistics.mean(sizes):.2f}", published])
    return table(["graphs", "number", "largest set of each", "mean", "DISCS, PAS"], rows)


def sections(results):
    """Returns the sections of the parts that have runs."""
    texts = {
        "cut": lambda: f"""## Maximum cut: the G-set

{cut_section(results)}

BLS (Benlic & Hao 2013) ran up to hours per graph; iSCO (Sun et al. 2023) and MCPG (Chen et al.
2023) ran on a GPU.""",
        "qubo": lambda: f"""## QUBO: Biq Mac's instances of up to {MOST_QUBO_SITES} variables

{optimum_section(results, "qubo")}""",
        "clique": lambda: f"""## Maximum clique: DIMACS

{optimum_section(results, "clique")}""",
        "independent": lambda: f"""## Independent sets of random graphs

Graphs G(n, p) with n uniform in 700 … 800, drawn anew. DISCS (Goshvadi et al. 2023) states means
over 128 other graphs of the same kind, so that only the means can be compared.

{independent_section(results)}"""}
    measured = {run["part"] for run in results["runs"]}
    return "\n\n".join(text() for part, text in texts.items() if part in measured)


def seeds_of(results, part):
    """Returns {instance: its seeds} of a part."""
    return {name: {run["seed"] for run in runs}
            for name, runs in by_instance(results, part).items()}


def shared_seeds(results, part):
    """Returns the seeds that all instances of a part have."""
    seeds = seeds_of(results, part).values()
    return sorted(set.intersection(*seeds)) if seeds else []


def further_seeds(results):
    """Returns a clause on the instances that have more seeds than the others of their part."""
    more = [f"{name} {', '.join(map(str, sorted(seeds - set(shared))))}" for part in PARTS
            for shared in [shared_seeds(results, part)]
            for name, seeds in seeds_of(results, part).items() if seeds - set(shared)]
    return more and ("instances on which these missed the published value have further ones ("
                     + "; ".join(more) + "); ") or ""


def page(results):
    own = {name: shared_seeds(results, name) for name in PARTS}
    seeds = "; ".join(f"{', '.join(map(str, own[name]))} for `{model}`"
                      for name, (model, *_) in PARTS.items() if own[name])
    measured = {run["part"] for run in results["runs"]}
    times = "; ".join(f"{', then '.join(map(str, part[1]))} for `{part[0]}`"
                      for name, part in PARTS.items() if name in measured)
    made = wrapped(f"""
        Published instances, solved by annealing at its defaults within seconds to a minute of one
        thread. Generated by `scripts/pages/combinatorial_page.py` on {results["machine"]}; the
        command of every run is""")
    meaning = wrapped(f"""
        or, for the G-set, whose graphs are built in, `--instance gset:G14` in place of the first
        two options. SECONDS are {times}: a seed that has not reached the best published value in
        the first time gets the second, in a run of its own that does not know the first. Seeds are
        {seeds}; {further_seeds(results)}a list of values has the longest run of each
        seed, and no seed was left out. *Time to solution* is the time in which chains find the
        best value of the row with a probability of 99 %, from the share of the run's chains, or
        groups of chains, that found it ([guide](../guide/combinatorial-problems.md)), as a median
        over the seeds; it is empty if a seed has not found it. Biq Mac's optima and those of
        cliques are proven or best known values.""")
    return f"""# Combinatorial problems

{made}

    isinglass sample --model MODEL --weights FILE --anneal auto --time SECONDS --threads 1 --seed S

{meaning}

{sections(results)}
"""


def wrapped(text):
    """Returns a paragraph in lines of at most 100 columns."""
    return textwrap.fill(" ".join(text.split()), 100, break_long_words=False,
                         break_on_hyphens=False)


def main():
    if sys.argv[1:] == ["--check"]:
        if PAGE.read_text() != page(json.loads(RESULTS.read_text())):
            sys.exit(f"{PAGE} differs from {RESULTS}; write it again with {sys.argv[0]}")
        return
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    listed = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("folder")
    parser.add_argument("--part", type=listed, default=list(PARTS))
    parser.add_argument("--program", default=str(ROOT / "build/isinglass"))
    parser.add_argument("--instances", type=listed, default=[])
    parser.add_argument("--seeds", type=lambda text: [int(seed) for seed in text.split(",")],
                        default=[1, 2, 3])
    parser.add_argument("--jobs", type=int, default=1)
    measure(parser.parse_args())
    PAGE.write_text(page(json.loads(RESULTS.read_text())))


if __name__ == "__main__":
    main()
