#!/usr/bin/env python3
"""Judges the committed results of the presets again, by today's rules, and writes their pages.

    scripts/pages/judge_again.py PROGRAM [PRESET…]

PROGRAM is build/isinglass. Verdicts follow from the rows of docs/results/PRESET/results.json alone.
The cells that the rows came from are not committed: what a page shows of them (curves, pictures,
evaluations that stayed open, the configuration) is taken over from the page as it was.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "docs/results"
DATA = re.compile(r'(<script id="data" type="application/json">)(.*?)(</script>)', re.DOTALL)


def data_of(page):
    return json.loads(DATA.search(page)[2])


def take_over_part(new, old):
    """Charts and pictures of cells, at the end and before the tables as the program has them."""
    for piece in old["pieces"]:
        same = next((p for p in new["pieces"] if p["kind"] == piece["kind"]), None)
        if piece["kind"] == "charts" and same:
            titles = {chart["title"] for chart in same["charts"]}
            same["charts"] += [chart for chart in piece["charts"] if chart["title"] not in titles]
        elif piece["kind"] == "facts" and same:
            same["facts"] = {name: piece["facts"].get(name, value) if value == "–" else value
                             for name, value in same["facts"].items()}
        elif piece["kind"] == "pictures" and not same:
            new["pieces"].append(piece)


def take_over(new, old):
    parts = {part["title"]: part for part in new["parts"]}
    for i, part in enumerate(old["parts"]):
        if part["title"] in parts:
            take_over_part(parts[part["title"]], part)
        elif part["title"] in ("Configuration", "Evaluations that stayed open"):
            before = old["parts"][i - 1]["title"]
            at = next((k for k, p in enumerate(new["parts"]) if p["title"] == before),
                      len(new["parts"]) - 1)
            new["parts"].insert(at + 1, part)


def main():
    program, wanted = sys.argv[1], sys.argv[2:]
    for file in sorted(RESULTS.glob("*/results.json")):
        if wanted and file.parent.name not in wanted:
            continue
        page = file.parent / "report.html"
        old = data_of(page.read_text(encoding="utf-8"))
        subprocess.run([program, "report", file.parent], check=True, capture_output=True)
        text = page.read_text(encoding="utf-8")
        new = data_of(text)
        take_over(new, old)
        data = json.dumps(new, separators=(",", ":")).replace("<", "\\u003c")
        start, end = DATA.search(text).span(2)
        page.write_text(text[:start] + data + text[end:], encoding="utf-8")
        verdicts = [claim["verdict"] for claim in json.loads(file.read_text())["claims"]]
        print(f"{file.parent.name}: {', '.join(verdicts)}")


if __name__ == "__main__":
    main()
