"""Checks the layers of the architecture: cli, python -> lab -> train -> engine -> models ->
kernels, with io below all. Inside kernels the order is base, random, accept, lattice, the families
of samplers and models, ops; each may include those before it, and no family includes another one.
Folders that lie in the same folder do not include each other in a circle: where one includes
another, directly or through further ones, the other does not include the first. The files directly
in the common folder do not count, because a registry lists what its sub-folders contain.
Code in a family's fast/ only makes the family faster: it is selected only by CPU and CUDA sources
of its own folder, of a later folder in this order or of ops/, and nothing else includes it except
other fast/ folders.

Usage: layering_test.py [ROOT]. Includes are compared as text; a quoted include names its file from
the repository's root. Tests and examples belong to the layer that they test or extend. Each rule is
itself tested on a planted violation.
"""
import re
import sys
import tempfile
import unittest
from pathlib import Path

# Each layer may include those before it.
LAYERS = ["io", "kernels", "models", "engine", "train", "lab", "cli", "python"]
APART = {"python": "cli"}  # python/ may not include cli/, although that comes before it
# These are the floors of kernels/; every other folder in it is a family.
FLOORS = ["base", "random", "accept", "lattice", "families", "ops"]
# The layer of what lies in tests/ under another name. The references are plain loops that share
# nothing with the code under test; three have targets that are models.
TESTS = {"support": "io", "support/ranks_of_threads.h": "engine",
         "support/training_fixture.h": "train", "support/trainer_fixture.h": "train",
         "support/data_files.h": "train", "harness": "io", "reference": "io",
         "reference/tiny_target.h": "models", "reference/lattice_target.h": "models",
         "reference/any_scale.h": "models",
         "simt": "kernels", "dispatch": "kernels", "extending": "lab", "bench": "lab"}
FOLDERS = [*LAYERS, "tests", "examples", "scripts", "cmake"]
SOURCES = {".h", ".cpp", ".cu"}
WRITTEN = SOURCES | {".py", ".sh", ".cmake", ".css", ".js"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
TORCH_HEADER = re.compile(r"^(torch|ATen|c10|caffe2)/")
SEES_TORCH = "kernels/ops/"
LAUNCHER = "kernels/base/launch.h"


def includes(text):
    """(line number, header, quoted) of each include."""
    for number, line in enumerate(text.splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[2], match[1] == '"'


def layer_of(file):
    """Returns the layer of a file of the repository, or None."""
    parts = file.split("/")
    if parts[0] == "examples":  # examples/extending/models/clock.h is to become models/clock.h
        parts = parts[2:]
    elif parts[0] == "tests":
        parts = [TESTS.get("/".join(parts[1:3]), TESTS.get(parts[1], parts[1]))]
    return parts[0] if parts[0] in LAYERS else None


def kernel_violation(file, header):
    """The same between the folders of kernels/."""
    own, other = file.split("/")[1], header.split("/")[1]
    floor, others = (FLOORS.index(folder if folder in FLOORS else "families")
                     for folder in (own, other))
    if others > floor or (others == floor and own != other):
        return f"kernels/{own}/ may not include kernels/{other}/ ({header})"
    picks = own == "ops" or re.search(r"_(cpu|cuda)\.(h|cpp)$|\.cu$", file)
    if "/fast/" in header and "/fast/" not in file and not picks:
        return f"what is complete without it may not include {header}"
    return None


def header_violation(file, header, quoted):
    """Returns why `file` (a path from the root) may not include `header`, or None."""
    folder, layer, target = file.split("/")[0], layer_of(file), layer_of(header)
    if layer is None:
        return "the file stands in no layer"
    if quoted and target is None:
        return f'"{header}" is not named from the repository\'s root'
    if folder not in ("tests", "examples") and header.startswith("tests/"):
        return f"{folder}/ may not include tests ({header})"
    if target and (LAYERS.index(target) > LAYERS.index(layer) or APART.get(layer) == target):
        return f"{layer}/ may not include {target}/ ({header})"
    if folder == "kernels" and target == "kernels" and (reason := kernel_violation(file, header)):
        return reason
    blind = folder == "kernels" and not file.startswith(SEES_TORCH)
    if blind and (TORCH_HEADER.match(header) or header.startswith(SEES_TORCH)):
        return f"a kernel may not see LibTorch ({header})"
    if file.endswith(".cu") and header.startswith("cub/"):
        return f"block scans and reductions are our own ({header})"
    if "engine/samplers/" in file and header in {"iostream", "fstream", "chrono"}:
        return f"samplers never print, write files or read clocks (<{header}>)"
    return None


def text_violations(file, text):
    """Launches and dynamic shared memory must go through one helper, which tests can replace."""
    if file == LAUNCHER or not file.startswith("kernels/"):
        return
    code = re.sub(r"//[^\n]*", "", text)
    for word in ("<<<", "extern __shared__"):
        if word in code:
            yield f"{file}: {word} outside {LAUNCHER}"


def files_of(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in WRITTEN:
                yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")


def violations(root):
    found = []
    for file, text in files_of(root):
        if Path(file).suffix not in SOURCES:
            continue
        for number, header, quoted in includes(text):
            if reason := header_violation(file, header, quoted):
                found.append(f"{file}:{number}: {reason}")
        found.extend(text_violations(file, text))
    sources = [(file, text) for file, text in files_of(root) if Path(file).suffix in SOURCES]
    return found + list(folder_circles(sources))


def folder_circles(sources):
    """Returns a sentence for each circle among sub-folders of one folder. sources: (file, text)."""
    arrows = {}  # folder -> sub-folder -> sub-folders that it includes
    for file, text in sources:
        for _, header, quoted in includes(text):
            own, other = file.split("/")[:-1], header.split("/")[:-1]
            depth = next((i for i, (a, b) in enumerate(zip(own, other)) if a != b), None)
            if (not quoted or depth is None or layer_of(file) is None or
                    own[0] in ("tests", "examples")):
                continue
            group = arrows.setdefault("/".join(own[:depth]), {})
            group.setdefault(own[depth], set()).add(other[depth])
    for folder, group in sorted(arrows.items()):
        left = dict(group)
        while free := [name for name, others in left.items() if not others & left.keys()]:
            for name in free:
                del left[name]
        if left:
            yield f"{folder}/: {', '.join(sorted(left))} include each other in a circle"


class Layering(unittest.TestCase):
    maxDiff = None
    root = Path(__file__).resolve().parents[2]

    def test_the_sources_keep_the_rules(self):
        seen = {file.split("/")[0] for file, _ in files_of(self.root)}
        self.assertEqual(seen, set(FOLDERS), "folders without a source")
        self.assertEqual(violations(self.root), [])

    def check(self, file, text, expected):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, file)
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            self.assertEqual(violations(Path(folder)), expected)

    def test_planted_violations_are_found(self):
        planted = {
            "wrong way": ("models/a.h", '#pragma once\n#include "engine/sampler.h"\n', 2),
            "io is below all": ("io/a.cpp", '#include "kernels/random/philox.h"\n', 1),
            "angle brackets": ("engine/a.cpp", "  #  include <train/objectives/pcd.h>\n", 1),
            "relative": ("engine/samplers/a.cpp", '#include "../sampler.h"\n', 1),
            "beside": ("engine/a.cpp", '#include "sampler.h"\n', 1),
            "torch in a kernel": ("kernels/base/a_cpu.cpp", "#include <torch/torch.h>\n", 1),
            "c10 in a kernel": ("kernels/base/a.cu", "#include <c10/cuda/CUDAStream.h>\n", 1),
            "operators in a kernel": ("kernels/base/a.cu", '#include "kernels/ops/path.h"\n', 1),
            "cub": ("kernels/base/a.cu", "#include <cub/cub.cuh>\n", 1),
            "a kernel's floor": ("kernels/random/a.h", '#include "kernels/accept/a.h"\n', 1),
            "another family": ("kernels/path/a.h", '#include "kernels/jump/a.h"\n', 1),
            "a base that knows of fast":
                ("kernels/path/a.h", '#include "kernels/path/fast/a.h"\n', 1),
            "fast of another family":
                ("kernels/jump/a_cpu.cpp", '#include "kernels/path/fast/a.h"\n', 1),
            "fast of a lower floor":
                ("kernels/jump/a.h", '#include "kernels/lattice/fast/a.h"\n', 1),
            "the library's user": ("lab/a.h", '#include "cli/options/options.h"\n', 1),
            "the program in the package":
                ("python/bindings/a.cpp", '#include "cli/commands/commands.h"\n', 1),
            "clock": ("engine/samplers/a.cpp", "#include <chrono>\n", 1),
            "a test above its layer":
                ("tests/models/a_test.cpp", '#include "engine/run/run.h"\n', 1),
            "by another test": ("tests/io/a_test.cpp", '#include "tests/cli/a.h"\n', 1),
            "a reference of the code":
                ("tests/reference/a.h", '#include "models/network/rbm.h"\n', 1),
            "a test in the program": ("io/a.cpp", '#include "tests/support/source_tree.h"\n', 1),
            "an example's layer": ("examples/e/models/a.h", '#include "engine/run/run.h"\n', 1),
            "an example's clock": ("examples/e/engine/samplers/a.cpp", "#include <chrono>\n", 1),
        }
        for name, (file, text, line) in planted.items():
            with self.subTest(name):
                reason = header_violation(file, *list(includes(text))[0][1:])
                self.assertIsNotNone(reason)
                self.check(file, text, [f"{file}:{line}: {reason}"])

    def test_planted_launches_are_found(self):
        for word, line in (("<<<", "f<<<1, 2>>>(x);"),
                           ("extern __shared__", "extern __shared__ double s[];")):
            with self.subTest(word):
                self.check("kernels/base/a.cu", line,
                           [f"kernels/base/a.cu: {word} outside {LAUNCHER}"])

    def test_planted_circles_are_found(self):
        def included(header):
            return f'#include "{header}"\n'
        arrows = [("lab/a/x.h", included("lab/b/y.h")), ("lab/b/z.cpp", included("lab/c/w.h"))]
        self.assertEqual(list(folder_circles(arrows)), [])
        # Includes of files in the common folder or in a parent make no circle.
        registry = [("lab/list.cpp", included("lab/a/x.h")), ("lab/a/x.h", included("lab/list.h")),
                    ("lab/a/k/x.h", included("lab/a/y.h")),
                    ("lab/a/y.cpp", included("lab/a/k/x.h"))]
        self.assertEqual(list(folder_circles(arrows + registry)), [])
        for closing in (("lab/c/w.h", included("lab/a/x.h")),
                        ("lab/c/deeper/w.cpp", included("lab/a/deeper/x.h"))):
            self.assertEqual(list(folder_circles([*arrows, closing])),
                             ["lab/: a, b, c include each other in a circle"])

    def test_allowed_includes_pass(self):
        self.check("kernels/ops/path.cpp",
                   '#include "kernels/ops/path.h"\n#include <torch/library.h>\n', [])
        self.check("cli/a.cpp", '#include "train/objectives/pcd.h"\n#include "io/error.h"\n'
                   "#include <chrono>\n", [])
        self.check("kernels/path/a_cpu.cpp",
                   '#include "kernels/path/fast/a.h"\n#include "kernels/lattice/a.h"\n', [])
        self.check("kernels/rbm/a_cpu.cpp", '#include "kernels/random/fast/a.h"\n', [])
        self.check("kernels/path/fast/a.h", '#include "kernels/lattice/fast/a.h"\n', [])
        self.check("kernels/base/launch.h", "kernel<<<blocks, threads>>>(x);\n", [])
        self.check("kernels/base/a.cu", "// never a bare <<<>>>\n", [])
        self.check("tests/models/a_test.cpp", '#include "tests/support/scratch.h"\n'
                   '#include "tests/support/fuzzing.h"\n#include "models/network/rbm.h"\n', [])
        self.check("examples/e/models/a.cpp", '#include "models/a.h"\n', [])


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        Layering.root = Path(sys.argv.pop(1)).resolve()
    unittest.main()
