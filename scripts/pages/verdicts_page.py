#!/usr/bin/env python3
"""Writes docs/results/verdicts.md: every claim of the presets with its verdict, and what it was before.

  scripts/pages/verdicts_page.py PROGRAM [--before REVISION]

PROGRAM is build/isinglass. REVISION is the one whose committed results are compared with (default:
the one before claims were judged with convergence of both sides, margins and halves of the repeats).
Its rows are also judged by today's rules, so that a change of rules is told from a change of runs.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs/results"
BEFORE = "940d230"


def committed(revision, preset):
    """results.json of a preset at a revision; None where there is none."""
    done = subprocess.run(
        ["git", "-C", ROOT, "show", f"{revision}:docs/results/{preset}/results.json"],
        capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def texts(value):
    return [value] if isinstance(value, str) else list(value)


def with_definitions(results):
    """The claims of older results leave out what judging again needs: the preset has it."""
    preset = tomllib.loads((ROOT / f"lab/presets/grids/{results['grid']}.toml").read_text())
    results["claims"] = [
        {"claim": claim["text"], "rule": claim["rule"], "metric": claim["metric"],
         "axis": claim.get("axis", ""), "who": texts(claim["who"]), "than": texts(claim["than"]),
         "of_models": texts(claim.get("models", [])), "margin": claim.get("margin", 0.1)}
        for claim in preset.get("claims", [])]
    return results


def judged(program, results):
    """The claims, judged again by the program."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "results.json"
        file.write_text(json.dumps(with_definitions(results)))
        subprocess.run([program, "report", folder, "--out", f"{folder}/page.html"], check=True,
                       capture_output=True)
        return json.loads(file.read_text())["claims"]


def verdicts(claims):
    """By the texts, of which earlier ones said "ESS a step"."""
    return {re.sub(r"\b(ESS|further) a (step|second|model call)\b", r"\1 per \2", claim["claim"]): claim["verdict"]
            for claim in claims}


def repeats_seen(preset):
    """The repeats of every committed run of the preset, the present one last: "4, 8"."""
    file = f"docs/results/{preset}/results.json"
    log = subprocess.run(["git", "-C", ROOT, "log", "--reverse", "--format=%h", f"{BEFORE}..", "--", file],
                         capture_output=True, text=True, check=True)
    versions = [committed(revision, preset) for revision in log.stdout.split()]
    versions.append(json.loads((ROOT / file).read_text()))
    counts = [max(row["repeat"] for row in v["rows"]) + 1 for v in versions if v]
    return ", ".join(str(n) for i, n in enumerate(counts) if i == 0 or n != counts[i - 1])


def reasons(claim):
    """What left it undecided, on the models where it is."""
    found = collections.Counter(
        model["reason"] for model in claim["models"]
        if model["verdict"] == "undecided" and model.get("reason"))
    return "; ".join(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--before", default=BEFORE)
    args = parser.parse_args()

    smaller = {}
    rows, now_counts, before_counts = [], collections.Counter(), collections.Counter()
    for file in sorted(RESULTS.glob("*/results.json")):
        preset = file.parent.name
        old = committed(args.before, preset)
        was = verdicts(old["claims"]) if old else {}
        by_rules = verdicts(judged(args.program, old)) if old else {}
        now = json.loads(file.read_text())
        if now.get("smaller"):
            smaller[preset] = "; ".join(f"{model} for {larger}" for model, larger in now["smaller"].items())
        mark = "†" if preset in smaller else ""
        repeats = repeats_seen(preset)
        for claim in now["claims"]:
            text = claim["claim"]
            now_counts[claim["verdict"]] += 1
            before_counts[was.get(text, "–")] += 1
            rows.append([f"[{preset}]({preset}/report.html)", text, was.get(text, "–"),
                         by_rules.get(text, "–"), claim["rule"], repeats, f"**{claim['verdict']}**{mark}",
                         reasons(claim) if claim["verdict"] == "undecided" else ""])

    def count(counter):
        return ", ".join(f"{counter[v]} {v}" for v in ("supported", "not supported", "undecided"))

    lines = [
        "# Verdicts", "",
        "Every claim of the presets with the verdict that its rule gives, from "
        "`scripts/pages/verdicts_page.py build/isinglass`. The rule stands on every page and in "
        "`lab/grid/claims.h`: the best settings are chosen on one half of the repeats and compared on the other, and where a "
        "number is one of equilibrium (ESS, acceptance, movement) a side whose chains have not converged may lose but not win. Energies "
        "reached, shares at modes, MMD and likelihoods are of runs as they are. *beats* wants a number that is better; "
        "*matches* one that is not worse by more than the margin, so that \"the largest\" under this rule may be up to the "
        "margin below another; under *beats* the same words want more.", "",
        f"Now: {count(now_counts)}. At {args.before}, before these rules: {count(before_counts)}. "
        "The column \"its rows, judged again\" judges the earlier runs by the present rules: most had a "
        "single repeat, which cannot both choose the best of several settings and judge it. The last "
        "columns judge the present runs.", "",
        "The margins (10 % of the compared value, 25 % for burn-in in `fhmm`), the lengths and repeats of the "
        "present runs, the sizes of smaller targets and the small scale of `alpha-sigma` (.1, as nothing converged at .05) "
        "were chosen when earlier results were known; most presets with more "
        "repeats than before (column \"repeats\", of all runs that were published) got them because a claim had stayed undecided, which "
        "lets chance decide more often than in one of twenty claims. An advantage below the margin "
        "makes \"beats\" not supported, where it was undecided before. So do shares of "
        "which certainly nothing is lost on either side: a claim of `rbm`, whose rows were known when this rule was written. "
        "The runs of `lbj-bernoulli`, "
        "`lbj-ising`, `lbj-rbm`, `lbj-potts` and `lbj-fhmm`, of which claims are about time, had one core to themselves while the other one "
        "worked on something else, but for `lbj-fhmm`'s n = 8, which decide none; so had the later cells of `lbj-categorical`, whose earlier ones ran on both cores; "
        "other pages' seconds are of a busy machine, and no claim of theirs about time is decided.", "",
        "Runs \"until converged\" are doubled until R-hat is at most 1.05, so that their length follows their outcome: ESS "
        "per step of one that ends just then is too large, and more so of samplers that mix slowly.", "",
        f"| preset | claim | at {args.before} | its rows, judged again | rule | repeats | now | left undecided by |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    if smaller:
        lines += ["", "† On targets smaller than the paper's, for chains to converge in the time that a run here has; of the "
                  "paper's own these verdicts say nothing:", ""]
        lines += [f"- `{preset}`: {text}" for preset, text in smaller.items()]
    (RESULTS / "verdicts.md").write_text("\n".join(lines) + "\n")
    print(f"now: {count(now_counts)}")


if __name__ == "__main__":
    main()
