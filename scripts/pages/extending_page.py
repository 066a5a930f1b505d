#!/usr/bin/env python3
"""Puts the files of examples/extending/ and their tests into docs/howto/extending.md, where it
shows them.

    scripts/pages/extending_page.py

tests/extending/page_test.py checks that the page shows them as they are.
"""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/howto/extending.md"
SHOWN = re.compile(r"^`([^`\n]+)`:\n\n```cpp\n.*?^```", re.MULTILINE | re.DOTALL)


def shown(match):
    name = match.group(1)
    file = ROOT / name if name.startswith("tests/") else ROOT / "examples/extending" / name
    return f"`{name}`:\n\n```cpp\n{file.read_text(encoding='utf-8')}```"


if __name__ == "__main__":
    PAGE.write_text(SHOWN.sub(shown, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
