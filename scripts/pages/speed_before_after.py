#!/usr/bin/env python3
"""Times the steps, or other stages, of two revisions of the program on a CPU, in turns in one run.

    scripts/pages/speed_before_after.py BEFORE OUT.md [--threads T] [--rounds N] [--model NAME]
                                        [--channels C] [--stages STAGE,…] [--without FLAG]

BEFORE is the isinglass of an earlier revision; it is compared with build/isinglass. The cases are
those of performance_page.py; --model leaves only those of one model, --without only those without
a flag, given without its dashes, and --channels changes the size of the networks. Each round times
the stages of both programs, and they alternate in going first. The page is written after every
case, with those measured so far. Run the script on an idle machine, or pin it to an idle core.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

import performance_page


def revision_of(program):
    text = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    return text.split("(")[1].split(")")[0]


def cases(model, without, channels, stages):
    """Yields the cases of the performance page, reduced to some stages, of one model or (None) all.
    """
    for commands in performance_page.CASES.values():
        for case in commands:
            if model and case[case.index("--model") + 1] != model or f"--{without}" in case:
                continue
            at = case.index("--stages") if "--stages" in case else len(case)
            case = [*case[:at], *case[at + 2:]]
            if channels and "--channels" in case:
                case[case.index("--channels") + 1] = channels
            yield [*case, "--stages", stages]


def milliseconds(program, case, threads, folder):
    """Returns the machine and the time of each stage."""
    command = [program, "bench", *case, "--chains", "100", "--repeats", "5", "--threads",
               str(threads), "--json", "--quiet"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder)
    result = json.loads(done.stdout)
    return result["machine"], {stage["name"]: stage["milliseconds"]["median"]
                               for stage in result["stages"]}


def page(arguments, given, revisions, machine, lines):
    """Returns the page of these lines of its table."""
    before, now = revisions
    what = f"Steps on a {arguments.model}" if arguments.model else "Steps"
    return f"""# {what} on a CPU, before and after

This page shows times of 100 chains on a CPU at two revisions of the program, {before}
(before) and {now} (now). Times are medians over the rounds. The last columns are the median of the
ratios of the rounds, and their least and most.

`scripts/pages/speed_before_after.py BEFORE docs/results/{arguments.page.name} \
--threads {arguments.threads} \
--rounds {arguments.rounds}{"".join(given)}`
wrote this page on {machine['cores']} core(s) of a processor {machine['cpu']}. \
The two programs took turns in one run.

| `isinglass bench --model …` | stage | before, ms | now, ms | now / before | least to most |
| --- | --- | ---: | ---: | ---: | ---: |
""" + "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", help="time only the cases of this model")
    parser.add_argument("--without", help="leave out the cases with this flag")
    parser.add_argument("--channels", help="channels of the networks in place of the cases'")
    parser.add_argument("--stages", default="step")
    arguments = parser.parse_args()
    programs = [arguments.before, performance_page.PROGRAM]
    revisions = [revision_of(program) for program in programs]
    given = [f" --{name} {value}" for name in ("model", "without", "channels", "stages")
             if (value := getattr(arguments, name)) != parser.get_default(name)]
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        performance_page.ising(pathlib.Path(folder) / "ising.pt")
        for case in cases(arguments.model, arguments.without, arguments.channels,
                          arguments.stages):
            rounds = ([], [])
            for turn in range(arguments.rounds):
                for which in ((0, 1), (1, 0))[turn % 2]:
                    machine, times = milliseconds(programs[which], case, arguments.threads, folder)
                    rounds[which].append(times)
            for stage in arguments.stages.split(","):
                times = [[one[stage] for one in of_program] for of_program in rounds]
                ratios = [new / old for old, new in zip(*times)]
                lines.append(f"| `{' '.join(case[1:case.index('--stages')])}` | {stage} | "
                             f"{statistics.median(times[0]):.4g} | "
                             f"{statistics.median(times[1]):.4g} | "
                             f"{statistics.median(ratios):.3f} | {min(ratios):.3f} to "
                             f"{max(ratios):.3f} |")
                print(lines[-1], flush=True)
            arguments.page.write_text(page(arguments, given, revisions, machine, lines),
                                      encoding="utf-8")


if __name__ == "__main__":
    main()
