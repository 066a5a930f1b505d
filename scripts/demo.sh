#!/usr/bin/env bash
# Goes from nothing to an energy-based model that generates images:  scripts/demo.sh [DIR]  (default
# runs/demo). It runs set-up and the build, trains a small ResNet on the built-in pen strokes by
# persistent contrastive divergence with PAFS, measures its log-likelihood by annealed importance
# sampling in both directions, and compares that with independent pixels. Training and evaluation
# take under 10 minutes on 2 cores.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

run=${1:-$root/runs/demo}
training=(--sampler pafs --radius 8 --channels 16 --steps-per-iter 10 --buffer 500 --batch 100
  --iters 1000 --lr 1.5e-4 --warmup 100 --l2 1e-3 --ema 0.99)
# Three minutes of annealing in both directions; the verdict states how far the result can be
# trusted.
annealing=(--sampler pafs --radius 24 --chains 50 --steps 3000 --reverse)

isinglass() { "$build/isinglass" "$@"; }

"$root/scripts/build.sh" isinglass

say "1/2 training on strokes; pictures appear in $run/train/samples"
isinglass train --dataset strokes --model resnet "${training[@]}" \
  --seed 0 --out "$run/train" --overwrite

say "2/2 annealing: how likely are images that the model has not seen?"
isinglass evaluate --model resnet --weights "$run/train/ema.pt" --dataset strokes \
  "${annealing[@]}" --seed 0 --out "$run/evaluate" --overwrite

"$venv/bin/python" - "$run" << 'END'
import json
import pathlib
import sys

run = pathlib.Path(sys.argv[1])
ais = json.loads((run / "evaluate" / "ais.json").read_text())
model, pixels = ais["log_likelihood"]["test"], ais["baseline"]["test"]
meaning = ("The two ends agree: the likelihood can be quoted." if ais["verdict"] == "closed" else
           "The two ends are not held together yet: take neither for the likelihood; more --steps, or --until-closed, closes the bracket.")
print(f"""
Log-likelihood of the test images, in nats per image:
  this model, forward    {model["forward"]:8.1f}
  this model, in reverse {model["reverse"]:8.1f}
  independent pixels     {pixels:8.1f}
Bracket {ais["bracket"]:.1f} nats, verdict {ais["verdict"]}{": " + ais["reason"] if ais["reason"] else ""}.
{ais["note"]}
{meaning}
Pictures of the strokes and of what the model draws:
  {run / "train" / "data.png"}
  {max((run / "train" / "samples").glob("*.png"))}""")
END
