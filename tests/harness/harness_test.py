"""Checks that ctest reports the outcome of a suite: planted failures (also together with a skip),
skips and passes.

Usage: harness_test.py CMAKE CTEST SOURCE PLANTED_TESTS. The suites run in a project of their own,
by the rules of every test program of the repository (cmake/Tests.cmake).
"""
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

EXPECTED = {"Passes": "passed", "Fails": "failed", "FailsBesideASkip": "failed",
            "SkipsBesideAPass": "skipped", "RunsNothing": "failed", "DiesBesideASkip": "failed"}


def outcome(case):
    if case.find("failure") is not None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def run(ctest, build, *selection):
    """Returns the outcome of each selected suite, and whether ctest as a whole passed."""
    report = build / "report.xml"
    told = subprocess.run([ctest, "--test-dir", build, "--output-junit", report, *selection],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    cases = xml.etree.ElementTree.parse(report).getroot().iter("testcase")
    found = {case.get("name").removeprefix("planted."): outcome(case) for case in cases}
    print(told.stdout)
    return found, told.returncode == 0


def main():
    cmake, ctest, source, program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        build = Path(folder)
        subprocess.run([cmake, "-S", Path(source, "tests/harness/project"), "-B", build,
                        f"-DSOURCE={source}", f"-DPROGRAM={program}"],
                       stdout=subprocess.DEVNULL, check=True)
        found, passed = run(ctest, build)
        if found != EXPECTED:
            sys.exit(f"expected {EXPECTED}, and ctest reports {found}")
        if passed:
            sys.exit("suites failed, and ctest as a whole passes")
        for suite, expected in EXPECTED.items():
            _, passed = run(ctest, build, "--tests-regex", f"^planted.{suite}$")
            if passed != (expected != "failed"):
                sys.exit(f"{suite}: expected {expected}, and ctest "
                         f"{'passes' if passed else 'fails'}")


if __name__ == "__main__":
    main()
