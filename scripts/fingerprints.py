"""Prints fingerprints of the program's results, to check that a change of the code changes none of
them.

  scripts/fingerprints.py PROGRAM > before.json             before a change
  scripts/fingerprints.py PROGRAM --against before.json     after it, on the same machine

Runs command lines that cover every command and family of samplers, with fixed seeds, on the CPU
with one thread, and prints the SHA-256 of the numbers in each file that they write. Times,
revisions of the source and checksums of inputs are excluded. The last bits of numbers depend on the
processor, so that only results of one machine can be compared. Needs a Python with PyTorch
(.venv/bin/python).
"""
import argparse
import csv
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

MEASURED = re.compile(r"second|time|per_s|speed|memory|bytes|revision|version|program|checksum|sha|"
                      r"identity|device|host|threads|path|weights_file|_ms$|flops|eta|date|file$|"
                      r"made")
BINARY = "ising-grid:side=6,coupling=0.3"
LATTICE = f"sample --instance {BINARY} --chains 8 --burn-in 20 --steps 60 --thin 3"
RBM = "sample --model rbm --weights {rbm}/ema.pt --chains 8 --burn-in 20 --steps 60"
STROKES = ("train --dataset strokes --batch 10 --buffer 40 --iters 6 --steps-per-iter 4 "
           "--checkpoint-every 3")

CD = STROKES.replace(" --buffer 40", "")
# Maps names to arguments; {name} stands for the folder of an earlier line's results.
LINES = {
    "train": f"{STROKES} --model resnet --channels 4 --sampler pafs --radius 3",
    "train-more": "train --resume {train} --iters 9",
    "rbm": f"{STROKES} --model rbm --hidden 20 --sampler gibbs --scan chromatic",
    "cd": f"{CD} --objective cd --model rbm --hidden 20 --sampler gibbs --scan chromatic",
    "train-dlp": f"{STROKES} --model mlp --sampler dlp",
    "evaluate": "evaluate --model resnet --weights {train}/ema.pt --dataset strokes --sampler pafs "
                "--chains 6 --steps 40",
    "evaluate-rbm": "evaluate --model rbm --weights {rbm}/ema.pt --dataset strokes --sampler gibbs "
                    "--chains 6 --steps 60",
    "evaluate-adaptive": "evaluate --model rbm --weights {rbm}/ema.pt --dataset strokes "
                         "--sampler pafs --chains 6 --steps 60 --schedule adaptive",
    "resnet": "sample --model resnet --weights {train}/ema.pt --sampler pafs --chains 6 "
              "--burn-in 5 --steps 20",
    "resnet-lbj": "sample --model resnet --weights {train}/ema.pt --sampler lbj --adapt --chains 6 "
                  "--burn-in 20 --steps 20",
    "ablate": "ablate --preset parity --scale 0.02",
    "ablate-ising": "ablate --preset ising-50 --scale 0.0004",
}
for sampler in ("rwm", "block-gibbs", "hamming-ball", "lb", "pas", "gwg", "pafs", "nb", "lbj",
                "lbjf", "lbjb", "dlp", "ab-1st", "ab-shift", "ab-max", "ab-trace", "lsb-1", "lsb-2",
                "flsb-1", "flsb-2", "gibbs"):
    LINES[f"lattice-{sampler}"] = f"{LATTICE} --sampler {sampler}"
LINES["lattice-chromatic"] = f"{LATTICE} --sampler gibbs --scan chromatic"
for sampler in ("pafs", "lbj", "pas", "dlp", "gibbs", "nb"):
    LINES[f"lattice-{sampler}-adapt"] = (f"{LATTICE} --sampler {sampler}" +
                                         (" --adapt" if sampler != "gibbs" else ""))
for sampler in ("pafs", "pas", "gwg", "lbj", "dlp", "lb", "ab-1st"):
    LINES[f"rbm-{sampler}"] = f"{RBM} --sampler {sampler}"
LINES["rbm-sweep"] = f"{RBM} --sampler gibbs --scan chromatic"
for sampler in ("gwg", "pafs", "nb", "lbj", "lbjf", "lbjb", "dlp", "gibbs", "pas", "rwm"):
    LINES[f"potts-{sampler}"] = ("sample --instance potts-field:side=5 --chains 6 --steps 40 "
                                 f"--sampler {sampler}")
for sampler in ("ula", "mala", "uhmc", "hmc", "fhl"):
    LINES[f"mixture-{sampler}"] = ("sample --instance misled-rings --chains 8 --steps 40 "
                                   f"--sampler {sampler} --step-size 0.05")
for sampler in ("gwg", "pafs", "nb", "lbj", "ab-1st", "ab-trace", "gibbs", "pas"):
    LINES[f"ordered-{sampler}"] = ("sample --instance lattice-gaussian-cycle --chains 6 "
                                   f"--burn-in 20 --steps 40 --sampler {sampler}")
LINES["fhmm-pafs"] = "sample --instance fhmm:steps=20 --chains 6 --steps 30 --sampler pafs"
LINES["cooling"] = ("sample --model maxcut --weights torus.txt --chains 6 --burn-in 30 --steps 30 "
                    "--anneal 2,0.2 --sampler pafs")
LINES["energy"] = "energy --model rbm --weights {rbm}/ema.pt --states states.pt"
LINES["permutation"] = "sample --instance permutation:sites=6 --chains 6 --steps 30 --sampler pas"


def plain(value):
    """Returns a nested value in a form for JSON, in a fixed order, with tensors as hashes and
    without measured values."""
    if isinstance(value, torch.Tensor):
        data = value.detach().cpu().contiguous()
        if data.dtype == torch.bfloat16:
            data = data.view(torch.int16)
        return (f"{value.dtype} {list(value.shape)} "
                f"{hashlib.sha256(data.numpy().tobytes()).hexdigest()}")
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in sorted(value.items(), key=lambda item: str(item[0]))
                if not MEASURED.search(str(k))}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value if isinstance(value, (int, float, str, bool)) or value is None else str(value)


def fingerprint(file):
    """Returns the SHA-256 of a file's numbers, or None for a file of another type, which holds
    times or text only."""
    if file.suffix == ".pt":
        content = plain(torch.load(file, weights_only=True))
    elif file.suffix == ".json":
        content = plain(json.loads(file.read_text()))
    elif file.suffix == ".jsonl":
        content = [plain(json.loads(line)) for line in file.read_text().splitlines()]
    elif file.suffix == ".csv":
        content = [plain(row) for row in csv.DictReader(file.open())]
    elif file.suffix == ".png":
        return hashlib.sha256(file.read_bytes()).hexdigest()
    else:
        return None
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def measure(program, folder):
    found = {}
    torch.save((torch.arange(4 * 784).view(4, 784) * 7919 % 3 == 0).byte(), folder / "states.pt")
    side = range(6)
    (folder / "torus.txt").write_text(
        "".join(f"{6 * i + j} {6 * i + (j + 1) % 6}\n{6 * i + j} {6 * ((i + 1) % 6) + j}\n"
                for i in side for j in side))
    for name, line in LINES.items():
        out = folder / name
        words = line.format(**{other: folder / other for other in LINES}).split()
        if "--resume" in words:
            out = Path(words[words.index("--resume") + 1])
        else:
            file = "energies.pt" if words[0] == "energy" else ""  # it writes a single file
            if file:
                out.mkdir()
            words += ["--out", str(out / file)]
        words += ["--threads", "1", "--quiet"]
        ended = subprocess.run([program, *words], capture_output=True, text=True, cwd=folder,
                               check=False)
        if ended.returncode != 0:
            sys.exit(f"{name}: {' '.join(words)} ends with {ended.returncode}: "
                     f"{ended.stderr.strip()}")
        found[name] = {file.relative_to(out).as_posix(): print_ for file in sorted(out.rglob("*"))
                       if file.is_file() and (print_ := fingerprint(file))}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--against")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(str(Path(arguments.program).resolve()), Path(folder))
    if not arguments.against:
        print(json.dumps(found, indent=1))
        return
    before = json.loads(Path(arguments.against).read_text())
    other = [name for name in sorted(before.keys() | found.keys())
             if before.get(name) != found.get(name)]
    for name in other:
        print(f"differs: {name}")
    print(f"{len(found)} command lines, {len(other)} with other results")
    sys.exit(bool(other))


if __name__ == "__main__":
    main()
