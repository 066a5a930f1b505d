#!/usr/bin/env python3
"""Lets the committed pages of results share one copy of the chart library,
docs/results/chart.min.js.

    scripts/pages/share_chart.py [--check]

`isinglass report` writes pages that hold the library themselves (200 kB each), so that they open
anywhere. Here its text is replaced by a reference to the shared file. With --check nothing is
written, and the exit code is 1 if a committed page holds the library or refers to a file that is
missing.
"""
import re
import sys
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "docs/results"
SHARED = RESULTS / "chart.min.js"
INLINED = re.compile(r"<script>(/\*!\s*\* Chart\.js.*?)</script>", re.DOTALL)
REFERENCE = '<script src="../chart.min.js"></script>'
# A page may run its own scripts only; that of a folder above is one more source, also as a file.
POLICY, SHARED_POLICY = "script-src 'unsafe-inline';", "script-src 'unsafe-inline' 'self' file:;"


def main():
    libraries, rewritten = set(), {}
    pages = sorted(RESULTS.glob("*/report.html"))
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if found := INLINED.search(text):
            libraries.add(found.group(1))
            shared = text[:found.start()] + REFERENCE + text[found.end():]
            rewritten[page] = shared.replace(POLICY, SHARED_POLICY)
        elif REFERENCE not in text:
            sys.exit(f"{page} neither holds the chart library nor refers to {SHARED.name}")
    if sys.argv[1:] == ["--check"]:
        if rewritten or not SHARED.exists():
            sys.exit("pages hold the chart library, or it is missing: run "
                     f"scripts/pages/share_chart.py ({len(rewritten)})")
        return
    if SHARED.exists():
        libraries.add(SHARED.read_text(encoding="utf-8"))
    if len(libraries) != 1:
        sys.exit(f"the pages hold {len(libraries)} different libraries; make all of "
                 "them by one program")
    SHARED.write_text(libraries.pop(), encoding="utf-8")
    for page, text in rewritten.items():
        page.write_text(text, encoding="utf-8")
    print(f"{len(rewritten)} of {len(pages)} pages rewritten")


if __name__ == "__main__":
    main()
