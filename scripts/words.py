#!/usr/bin/env python3
"""Checks the language of the sources: the beginnings of comments and of messages, and the width of
lines.

    scripts/words.py [FILE...]        all tracked sources by default

A comment or a message is a sentence with a subject and a verb. One that begins with a word of
FRAGMENTS has none, and one that says "See x.h." says nothing. C++ and CUDA sources have at most 100
columns.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 100  # columns
FRAGMENTS = ("Of", "Those", "What", "Which", "Whether", "Beside")
BEGINNING = re.compile(rf"(?:{'|'.join(FRAGMENTS)})\b|See \S+\.(?:h|cpp|cu|cuh)\.$")
CPP = {".h", ".cpp", ".cu", ".cuh"}
# Strings come first, so that "//" within one begins no comment.
CPP_TOKEN = re.compile(r'R"([^(\s]*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|'
                       r'//(?P<line>[^\n]*)|/\*(?P<block>(?:.|\n)*?)\*/')
# The first string of a call that refuses something or ends the program.
MESSAGE = re.compile(r'\b(?:require|require_options|require_option|Error|Interrupted|'
                     r'NumericalError)\(\s*(?:[^;"]*?,\s*)?"([^"]*)"')
HASH_COMMENT = re.compile(r"^\s*#(?![!#])\s?(.*)$|^[^'\"#]*\s#\s(.*)$")


def comments_of_cpp(text):
    """Pairs of a line's number and the first line of a comment that begins there."""
    # A digit separator does not begin a character literal.
    text = re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "_", text)
    last = -1
    for match in CPP_TOKEN.finditer(text):
        comment = match.group("line") if match.group("line") is not None else match.group("block")
        if comment is None:
            continue
        number = text.count("\n", 0, match.start()) + 1
        alone = not text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip()
        if not (alone and last == number - 1):  # else the sentence goes on from the line above
            yield number, comment.strip("/*! ")
        last = number if alone else -1


def comments_of_script(text):
    """Pairs of a line's number and the first line of a comment that begins there."""
    last = -1
    for number, line in enumerate(text.split("\n"), 1):
        match = HASH_COMMENT.match(line)
        if not match:
            continue
        alone = match.group(1) is not None
        if not (alone and last == number - 1):
            yield number, (match.group(1) if alone else match.group(2)).strip("# ")
        last = number if alone else -1


def complaints(file):
    """Sentences on what is wrong in a file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    cpp = Path(file).suffix in CPP
    for number, comment in (comments_of_cpp if cpp else comments_of_script)(text):
        if BEGINNING.match(comment):
            yield f"{file}:{number}: a comment begins with {comment.split()[0]!r}: {comment}"
    if not cpp:
        return
    for match in MESSAGE.finditer(text):
        if re.match(rf"(?:{'|'.join(FRAGMENTS)})\b", match.group(1), re.IGNORECASE):
            yield (f"{file}:{text.count(chr(10), 0, match.start()) + 1}: a message begins with "
                   f"{match.group(1)!r}")
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > WIDTH:
            yield f"{file}:{number}: {len(line)} columns; at most {WIDTH} are allowed"


def main():
    files = sys.argv[1:] or subprocess.run(
        ["git", "ls-files", *(f"*{suffix}" for suffix in CPP), "*.py", "*.pyi", "*.sh"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    found = [complaint for file in files if (ROOT / file).is_file()
             for complaint in complaints(file)]
    print("\n".join(found) if found else f"{len(files)} sources: no fragment, no wide line")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
