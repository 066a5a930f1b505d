"""Measures ESS of the energy per second, threads and memory for scripts/pages/performance_page.py.

Every row is a run of `isinglass sample` (its summary.json) or of `isinglass bench`. A run with an
R-hat of 1.05 or more has not converged. Its ESS is too large and no result; it is shown in
brackets.
"""
import json
import os
import statistics
import subprocess

CONVERGED = 1.05
SCALING_TURNS = 5

# For each target: its flags, then for each sampler its flags, burn-in and steps. `--adapt` finds
# the step size; radii are chosen so that most paths are accepted.
TARGETS = {
    "Ising 50x50": (["--model", "ising", "--weights", "ising.pt"], [
        (["gibbs", "--scan", "chromatic"], 500, 4000),
        (["lbj", "--adapt"], 2000, 4000),
        (["dlp", "--adapt"], 2000, 4000),
        (["pafs", "--radius", "20"], 2000, 6000),
        (["pas", "--radius", "20"], 2000, 6000),
        (["gwg"], 20000, 80000)])}

# ESS per second of the energy over all 100 chains, and R-hat, of published programs in runs of at
# most 4000 steps (800 sweeps of thrml), measured on two Zen 4 cores.
PUBLISHED = {
    "Ising 50x50": [("thrml, checkerboard Gibbs", 19900, 1.00),
                    ("best with gradients: DISCS, LBJ", 640, 1.02)]}


def sample(program, flags, arguments, folder):
    """Returns the summary of a run and its peak memory [MiB]."""
    command = [str(program), "sample", *flags, "--chains", str(arguments.chains), "--threads",
               str(arguments.threads), "--no-samples", "--quiet", "--overwrite", "--out", "run"]
    started = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise subprocess.CalledProcessError(started.returncode, command)
    with open(os.path.join(folder, "run", "summary.json"), encoding="utf-8") as file:
        return json.load(file), used.ru_maxrss / 1024


def number(value):
    """Returns NaN for an undefined number, which JSON has as null."""
    return float("nan") if value is None else value


def ess_row(program, target, case, arguments, folder):
    """Returns the ESS per second of all chains (None if the run has not converged) and the row."""
    sampler, burn_in, steps = case
    flags = [*target, "--sampler", *sampler, "--burn-in", str(burn_in), "--steps", str(steps)]
    summary, _ = sample(program, flags, arguments, folder)
    rhat, per_second = number(summary["rhat"]), number(summary["ess"]["per_second_all"])
    converged = rhat < CONVERGED
    adapted = ", ".join(f"{name} {value:.3g}" for name, value in summary["adapted"].items())
    row = (f"| `{' '.join(flags[len(target):])}` | {adapted} | "
           f"{number(summary['acceptance']):.3f} | {number(summary['hops']):.3g} | "
           f"{1000 * summary['seconds'] / steps:.4g} | {rhat:.3f} | "
           + ("{:.3g} | {:.4g} |" if converged else "({:.3g}) | ({:.4g}), not converged |")
           .format(1000 * number(summary["ess"]["per_step"]), per_second))
    return per_second if converged else None, row


HEAD = ["| sampler | scale | acceptance | hops | ms per step | R-hat | ESS per chain "
        "of 1000 steps | ESS per second |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]


def ess_tables(program, arguments, folder):
    """Returns a table for each target, with the ratios to the published programs."""
    parts = []
    for title, (target, cases) in TARGETS.items():
        lines, best, best_gradient = [f"`{' '.join(target)}`:", "", *HEAD], None, None
        for case in cases:
            per_second, row = ess_row(program, target, case, arguments, folder)
            lines.append(row)
            if per_second is not None:
                best = max(best or 0, per_second)
                if case[0][0] != "gibbs":
                    best_gradient = max(best_gradient or 0, per_second)
        lines += ["", "| published | R-hat | ESS per second | our best converged run | ratio |",
                  "| --- | --- | --- | --- | --- |"]
        for (name, theirs, rhat), ours in zip(PUBLISHED[title], (best, best_gradient)):
            lines.append(f"| {name} | {rhat} | {theirs} | "
                         + (f"{ours:.4g} | {ours / theirs:.3g} |" if ours else "none | |"))
        parts.append(f"### {title}\n\n" + "\n".join(lines) + "\n")
        print(parts[-1], flush=True)
    return "\n".join(parts)


def precision_table(program, weights, arguments, folder):
    """Returns a table of the same chains with gradients in float32 and in bfloat16."""
    lines = HEAD[:]
    target = ["--model", "resnet", "--weights", str(weights)]
    for precision in ("float32", "bf16"):
        case = (["pafs", "--radius", "8", "--gradient-precision", precision], 200, 800)
        lines.append(ess_row(program, target, case, arguments, folder)[1])
    return "\n".join(lines) + "\n"


def scaling_table(program, arguments, folder):
    """Returns a table of median step times of 1000 chains on the lattice with one and two threads,
    in turns."""
    lines = ["| sampler | 1 thread, ms | 2 threads, ms | ratio |", "| --- | --- | --- | --- |"]
    for sampler in (["gwg"], ["pafs", "--radius", "5"], ["lbj", "--tau", "0.1"],
                    ["gibbs", "--scan", "chromatic"]):
        turns = {1: [], 2: []}
        for threads in SCALING_TURNS * [1, 2]:
            done = subprocess.run(
                [program, "bench", *TARGETS["Ising 50x50"][0], "--burn-in", "200", "--sampler",
                 *sampler, "--stages", "step", "--chains", "1000", "--threads", str(threads),
                 "--repeats", "3", "--json", "--quiet"],
                check=True, stdout=subprocess.PIPE, text=True, cwd=folder)
            turns[threads].append(
                json.loads(done.stdout)["stages"][0]["milliseconds"]["median"])
        one, two = (statistics.median(turn) for turn in turns.values())
        lines.append(f"| `{' '.join(sampler)}` | {one:.4g} | {two:.4g} | {one / two:.3g} |")
    return "\n".join(lines) + "\n"


def memory_table(program, arguments, folder):
    """Returns a table of the peak memory of runs of 1e5 and 1e6 steps that keep the same number of
    draws."""
    lines = ["| steps of `gwg` | peak memory, MiB |", "| --- | --- |"]
    for steps in (10**5, 10**6):
        flags = [*TARGETS["Ising 50x50"][0], "--sampler", "gwg", "--steps", str(steps), "--thin",
                 str(steps // 100)]
        lines.append(f"| {steps} | {sample(program, flags, arguments, folder)[1]:.0f} |")
    return "\n".join(lines) + "\n"


def sections(program, weights, arguments, folder):
    return f"""## Effective samples a second

ESS is that of the energy by the estimator of the papers (the default of TensorFlow Probability),
over all {arguments.chains} chains and per second of their steps. Burn-in, in which `--adapt` finds
the step size, is not counted. Runs with an R-hat of {CONVERGED} or more are in brackets: they
overestimate. Published figures are for the same kind of target on another machine, two cores of Zen
4. The chains of an RBM mix slowly: the page on [tempering](tempering.md) has the bulk ESS of runs
that are long enough, beside the published program's.

{ess_tables(program, arguments, folder)}
### Gradients in float32 and in bfloat16

`--model resnet --weights {weights.parent.name}/{weights.name}`:

{precision_table(program, weights, arguments, folder)}
## From one thread to two

Ising 50x50, 1000 chains.

{scaling_table(program, arguments, folder)}
## Memory of a long run

Ising 50x50, {arguments.chains} chains.

{memory_table(program, arguments, folder)}"""
