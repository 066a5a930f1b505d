"""Writes a generated page, or with --check compares the page with what would be written."""
import sys


def write_or_check(file, text, sources):
    """Writes `text` to `file`. With --check exits with a sentence that names the `sources` if the
    file differs."""
    if sys.argv[1:] == ["--check"]:
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            sys.exit(f"{file} differs from the {sources}; write it again with {sys.argv[0]}")
    else:
        file.write_text(text, encoding="utf-8")
