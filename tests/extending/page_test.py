"""Checks that docs/howto/extending.md shows the files of examples/extending/ and their tests, and
that its commands work.

Usage: page_test.py BINARY SOURCE BUILD; BINARY is the program with the page's additions.
"""
import re
import sys
import tempfile
from pathlib import Path

SHOWN = re.compile(r"^`([^`\n]+)`:\n\n```cpp\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main():
    binary, source, build = sys.argv[1:]
    sys.path.insert(0, str(Path(source, "tests/structure")))
    from docs_test import Sandbox, blocks
    page = Path(source, "docs/howto/extending.md").read_text(encoding="utf-8")
    shown = dict(SHOWN.findall(page))
    example = Path(source, "examples/extending")
    files = {str(file.relative_to(example)): file for file in example.rglob("*") if file.is_file()}
    files |= {f"tests/extending/{file.name}": file
              for file in Path(__file__).parent.glob("*_test.cpp")}
    if set(shown) != set(files):
        sys.exit(f"the page shows {sorted(shown)}, and the files are {sorted(files)}")
    for name, file in files.items():
        if shown[name] != file.read_text(encoding="utf-8"):
            sys.exit(f"docs/howto/extending.md shows another text than {file}")
    with tempfile.TemporaryDirectory() as folder:
        sandbox = Sandbox(folder, binary, source, build)
        for block in blocks(page):
            if code := sandbox.run(block):
                sys.exit(f"exit code {code} from\n{block}")


if __name__ == "__main__":
    main()
