#!/usr/bin/env python3
"""Writes docs/results/verdicts.md: every claim of the presets with its verdict, and what it was
before.

  scripts/pages/verdicts_page.py PROGRAM [--before REVISION]

PROGRAM is build/isinglass. REVISION is the one whose committed results are compared with (default:
the last one before ends of sweeps, too few repeats and several models left claims undecided).
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
BEFORE = "a496d79"
FIRST = "940d230"  # of the history of repeats
# Beginnings of the reasons that leave a model undecided, and what they are called here.
REASONS = {
    "the best of": "the best setting of a side that would lose is at an end of its sweep",
    "too few repeats": "fewer than three repeats judge",
    "within the error of": "within the error, by Holm's rule for several models alone",
    "not converged": "a side has not converged",
    "no defined number": "a side has no defined number",
    "both sides": "both sides have the same number in every repeat",
    "within the error": "within the error",
}


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
    return {re.sub(r"\b(ESS|further) a (step|second|model call)\b", r"\1 per \2", claim["claim"]):
                claim["verdict"]
            for claim in claims}


def repeats_seen(preset):
    """The repeats of every committed run of the preset, the present one last: "4, 8"."""
    file = f"docs/results/{preset}/results.json"
    log = subprocess.run(["git", "-C", ROOT, "log", "--reverse", "--format=%h", f"{FIRST}..", "--",
                          file],
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


def kind_of(reason):
    """The first of REASONS that it begins with, or is said of a setting in the middle of it."""
    return next((text for start, text in REASONS.items() if reason.startswith(start)),
                REASONS["no defined number"] if "no defined number" in reason else reason)


def counted_reasons(claims):
    """Lines of a list: how many of the undecided claims are left so by each kind of reason."""
    kinds = collections.Counter()
    for claim in claims:
        kinds.update({kind_of(model["reason"]) for model in claim["models"]
                      if model["verdict"] == "undecided" and model.get("reason")})
    return [f"- {count}: {kind}" for kind, count in kinds.most_common()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--before", default=BEFORE)
    args = parser.parse_args()

    smaller, undecided = {}, []
    rows, now_counts, before_counts = [], collections.Counter(), collections.Counter()
    for file in sorted(RESULTS.glob("*/results.json")):
        preset = file.parent.name
        old = committed(args.before, preset)
        was = verdicts(old["claims"]) if old else {}
        by_rules = verdicts(judged(args.program, old)) if old else {}
        now = json.loads(file.read_text())
        if now.get("smaller"):
            smaller[preset] = "; ".join(f"{model} for {larger}"
                                        for model, larger in now["smaller"].items())
        mark = "†" if preset in smaller else ""
        repeats = repeats_seen(preset)
        for claim in now["claims"]:
            text = claim["claim"]
            now_counts[claim["verdict"]] += 1
            if claim["verdict"] == "undecided":
                undecided.append(claim)
            before_counts[was.get(text, "–")] += 1
            rows.append([f"[{preset}]({preset}/report.html)", text, was.get(text, "–"),
                         by_rules.get(text, "–"), claim["rule"], repeats,
                         f"**{claim['verdict']}**{mark}",
                         reasons(claim) if claim["verdict"] == "undecided" else ""])

    def count(counter):
        return ", ".join(f"{counter[v]} {v}" for v in ("supported", "not supported", "undecided"))

    lines = [
        "# Verdicts", "",
        "Every claim of the presets with the verdict that its rule gives, from "
        "`scripts/pages/verdicts_page.py build/isinglass`. The rule stands on every page and in "
        "[grid files](../reference/grid-files.md#claims): the best settings are chosen on one half "
        "of the repeats and compared on the other, where three repeats must judge; intervals are "
        "of the spread of the repeats, and wider for several models; "
        "a side whose best setting is at an end of its sweep cannot lose; and where a "
        "number is one of equilibrium (ESS, acceptance, movement) a side whose chains have not "
        "converged may lose but not win. Energies reached, shares at modes, MMD and likelihoods "
        "are of runs as they are. *beats* wants a number that is better; "
        "*matches* one that is not worse by more than the margin, so that \"the largest\" under "
        "this rule may be up to the margin below another; under *beats* the same words want more.",
        "", f"Now: {count(now_counts)}, of {sum(now_counts.values())}. At {args.before}: "
            f"{count(before_counts)}. The rules have become stricter since, because of what was "
            "wrong with them:", "",
        "- Of 92 comparisons that decided a model, 42 had been lost by a side whose best setting "
        "was at an end of its own sweep. It might have won one step further; nothing "
        "was measured there.",
        "- Intervals were taken from the chains' own error where the spread of the repeats did not "
        "exceed twice that error. Runs differ more than their chains say (by a factor of 1.4 in "
        "the median, of ESS per second), and with one or two repeats left to judge an interval "
        "\"of 95 %\" missed the truth in 10 to 30 % of cases. All now have one degree "
        "of freedom less than repeats, and one or two repeats decide nothing.",
        "- A claim on six models was contradicted by one of them at 5 % each. Holm's rule now "
        "holds all of a claim's verdicts to 5 % together. Nothing holds the claims of this page "
        "together: of as many as are decided here, 5 % would be wrong by chance, one or two.",
        "- Half of a bracket of log Z was taken for a standard error, which shrinks with repeats; "
        "it bounds a bias, which does not.", "",
        f"The {len(undecided)} that are undecided now are so for these reasons, of which a claim "
        "on several models may have more than one (a side with too few repeats may be at an end of "
        "its sweep besides):", "",
        *counted_reasons(undecided), "",
        "The presets sweep further and repeat more often since, and their runs are being made "
        "again; until they are, the column \"now\" judges the earlier rows. The column \"its rows, "
        f"judged again\" judges the rows of {args.before} by the present rules.", "",
        "The margins (10 % of the compared value, 25 % for burn-in in `fhmm`), the lengths "
        "and repeats of the present runs, the sizes of smaller targets and the small scale of "
        "`alpha-sigma` (.1, as nothing converged at .05) were chosen when earlier results were "
        "known; most presets with more repeats than before (column \"repeats\", of all runs that "
        "were published) got them because a claim had stayed undecided, which "
        "lets chance decide more often than in one of twenty claims. From now on a preset says its "
        "repeats before it runs, and they stay. "
        "The runs of `lbj-bernoulli`, "
        "`lbj-ising`, `lbj-rbm`, `lbj-potts` and `lbj-fhmm`, of which claims are about time, had "
        "one core to themselves while the other one worked on something else, but for `lbj-fhmm`'s "
        "n = 8, which decide none; so had the later cells of `lbj-categorical`, whose earlier ones "
        "ran on both cores; other pages' seconds are of a busy machine, and no claim of theirs "
        "about time is decided.", "",
        "Runs \"until converged\" are doubled until R-hat is at most 1.05, so that their length "
        "follows their outcome: ESS per step of one that ends just then is too large, and more so "
        "of samplers that mix slowly.", "",
        f"| preset | claim | at {args.before} | its rows, judged again | rule | repeats | now | "
        "left undecided by |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    if smaller:
        lines += ["", "† On targets smaller than the paper's, for chains to converge in the time "
                      "that a run here has; of the paper's own these verdicts say nothing:", ""]
        lines += [f"- `{preset}`: {text}" for preset, text in smaller.items()]
    (RESULTS / "verdicts.md").write_text("\n".join(lines) + "\n")
    print(f"now: {count(now_counts)}")


if __name__ == "__main__":
    main()
