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
# Annealing in both directions; the verdict states how far the result can be
# trusted.
annealing=(--radius 24 --chains 50 --steps 3000)

isinglass() { "$build/isinglass" "$@"; }

say "step 1 of 3: set-up and build, which takes long on a new machine"
"$root/scripts/build.sh" isinglass

say "step 2 of 3: training on strokes; pictures appear in $run/train/samples"
isinglass train --dataset strokes --preset small --out "$run/train" --overwrite

say "step 3 of 3: annealing: how likely are images that the model has not seen?"
isinglass evaluate --weights "$run/train/ema.pt" --dataset strokes "${annealing[@]}" \
  --out "$run/evaluate" --overwrite

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
  {max((run / "train" / "samples").glob("*.png"))}

What to try next:
  build/isinglass report {run / "train"}    # a page with the curves of the training
  build/isinglass data fetch static-mnist    # digits; then: build/isinglass train --dataset static-mnist --preset small
  build/isinglass sample --instance ising-grid:side=50,coupling=0.43    # a lattice instead of a network""")
END
