"""Writes a generated page, or with --check compares the page with what would be written; names the
machine."""
import platform
import re
import sys
from pathlib import Path


def processor():
    """Returns the name of this machine's processor."""
    names = re.findall(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return names[0] if names else platform.machine()


def write_or_check(file, text, sources):
    """Writes `text` to `file`. With --check exits with a sentence that names the `sources` if the
    file differs."""
    if sys.argv[1:] == ["--check"]:
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            sys.exit(f"{file} differs from the {sources}; write it again with {sys.argv[0]}")
    else:
        file.write_text(text, encoding="utf-8")
