"""What engine/ learns from chains it learns from those of all ranks: no mean or deviation over chains is taken
but of what Ranks has gathered (engine/context.h). The rule is itself tested on a planted violation.

Usage: ranks_test.py [ROOT].
"""
import re
import sys
from pathlib import Path

FOLDERS = ("adaptation", "annealing", "run", "samplers", "tempering")
OVER_ROWS = re.compile(r"[\w\])]\.(mean|std|var|median)\(")
BY_RANKS = re.compile(r"\branks_?\.mean\(")
# Of what is no row of a chain, or has been gathered a few lines above.
ALLOWED = {
    ("annealing/ais.cpp", "return ((a - a.mean()) * (b - b.mean())).sum().item<double>() / (n - 1);"),
    ("annealing/factorised.cpp", "return -at.energy.mean().item<double>() - log_z_;"),
    ("samplers/self_balancing.cpp", "const auto gradient = torch::autograd::grad({j.mean()}, {theta, log_eta});"),
    ("tempering/parallel_tempering.cpp", "result.round_trips = trips.mean().item<double>();"),
    ("tempering/parallel_tempering.cpp", "? (trips.std() / std::sqrt(trips.numel())).item<double>() / scans"),
}


def violations(file, text):
    """Lines of a source of engine/ that take a mean over this rank's chains alone."""
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0]
        if OVER_ROWS.search(BY_RANKS.sub("", code)) and (file, line.strip()) not in ALLOWED:
            yield f"engine/{file}:{number}: a mean over this rank's chains alone: {line.strip()}"


def main():
    planted = list(violations("samplers/new.cpp", "adapt(ranks.mean(accepted));\nadapt(accepted.mean());\n"))
    assert len(planted) == 1 and ":2:" in planted[0], planted
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "engine"
    files = [file for folder in FOLDERS for file in sorted((root / folder).glob("*.cpp"))]
    found = [line for file in files for line in violations(str(file.relative_to(root)), file.read_text(encoding="utf-8"))]
    assert files, f"{root} has no sources"
    lines = {(str(file.relative_to(root)), line.strip()) for file in files for line in file.read_text(encoding="utf-8").splitlines()}
    found += [f"engine/{file} does not have the line any more: {line}" for file, line in ALLOWED - lines]
    print("\n".join(found) or f"{len(files)} sources")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
