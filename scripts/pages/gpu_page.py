"""Writes docs/results/gpu.md: what was measured on a GPU, beside what was predicted and the published programs.

Usage: gpu_page.py [FOLDER]

FOLDER (default docs/results/gpu-h100) holds what scripts/gpu-check.sh, `isinglass bench` and scripts/gpu/peers.py
wrote there:
  checks.json                                      the tests and sanitizers, and how they ended
  measured-before.json, measured.json              steps of scripts/gpu/steps.tsv, first and now
  bench-before.json, bench.json                    stages of a ResNet-64, first and now
  training.json                                    milliseconds of an iteration of `isinglass train`, first and now
  peers.json, peers-full.json                      the published programs, in TF32 and in float32
"""
import json
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The published program's call and the stage of `isinglass bench`, or the step of steps.tsv.
BESIDE = [("forward", "energy", "U"), ("forward and gradient", "energy-gradient", "U and its gradient"),
          ("gwg", "resnet-64/gwg", "a GWG step"), ("mscorrect-5", "step", "a PAFS step of R = 5"),
          ("ais step by gwg", "ais-step", "a step of AIS"),
          ("pcd iteration of 10 gwg steps", "training-iteration", "a PCD iteration of 10 steps")]


def ms(seconds):
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} µs"


def read(folder, name):
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def stages(bench):
    return {s["name"]: s["milliseconds"]["median"] / 1e3 for s in bench["stages"]}


def peers_section(folder):
    before, now = stages(read(folder, "bench-before")), stages(read(folder, "bench"))
    steps_before, steps = read(folder, "measured-before")["seconds"], read(folder, "measured")["seconds"]
    before.update(steps_before)
    now.update(steps)
    tf32, full = (read(folder, name)["seconds"] for name in ("peers", "peers-full"))
    rows = ""
    for call, stage, title in BESIDE:
        theirs = [statistics.median(t[call]) for t in (tf32, full)]
        ours = now.get(stage)
        rows += (f"| {title} | {ms(before[stage]) if stage in before else '–'} | {ms(ours) if ours else '–'} | {ms(theirs[0])} | {ms(theirs[1])} | "
                 f"{theirs[1] / ours:.1f} |\n" if ours else "")
    return rows


def predicted_section(folder):
    predicted = json.loads((ROOT / "scripts/gpu/predictions.json").read_text(encoding="utf-8"))["seconds"]["H100"]
    before, now = read(folder, "measured-before"), read(folder, "measured")
    rows = ""
    for name, first in before["seconds"].items():
        last = now["seconds"].get(name)
        rows += (f"| {name} | {ms(predicted[name])} | {ms(first)} | {ms(last) if last else 'as before'} | "
                 f"{(last or first) / predicted[name]:.1f} |\n")
    return rows


def main():
    folder = ROOT / (sys.argv[1] if len(sys.argv) > 1 else "docs/results/gpu-h100")
    checks = read(folder, "checks")
    bench, training = read(folder, "bench"), read(folder, "training")
    text = (Path(__file__).with_name("gpu_page.md").read_text(encoding="utf-8")
            .replace("{{device}}", checks["device"]).replace("{{torch}}", checks["torch"])
            .replace("{{before}}", read(folder, "bench-before")["revision"][:7])
            .replace("{{now}}", bench["revision"][:7])
            .replace("{{peers}}", peers_section(folder).rstrip())
            .replace("{{predicted}}", predicted_section(folder).rstrip())
            .replace("{{training}}", "\n".join(f"| {t['what']} | {t['revision'][:7]} | {t['milliseconds']:.1f} ms |"
                                               for t in training))
            .replace("{{checks}}", "\n".join(f"| {c['what']} | {c['outcome']} |" for c in checks["checks"])))
    (ROOT / "docs/results/gpu.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
