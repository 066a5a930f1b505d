#!/usr/bin/env bash
# From nothing to an energy-based model that draws:  scripts/demo.sh [DIR]  (default runs/demo).
# Set-up, build; trains a small ResNet on the built-in pen strokes by persistent contrastive
# divergence with PAFS, measures its log-likelihood by annealed importance sampling, and compares
# that with independent pixels. Training and evaluation take under 10 minutes on 2 cores.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

run=${1:-$root/runs/demo}
training=(--sampler pafs --radius 8 --channels 16 --steps-per-iter 10 --buffer 500 --batch 100
  --iters 1000 --lr 1.5e-4 --warmup 100 --l2 1e-3 --ema 0.99)
# What two minutes of annealing allow: a few chains carry the estimate, and the evaluation says so.
annealing=(--sampler pafs --radius 24 --chains 80 --steps 8000)

isinglass() { "$root/build/isinglass" "$@"; }

"$root/scripts/build.sh" isinglass

say "1/2 training on strokes; pictures appear in $run/train/samples"
isinglass train --dataset strokes --model resnet "${training[@]}" \
  --seed 0 --out "$run/train" --overwrite

say "2/2 annealing: how likely are images that the model has not seen?"
isinglass evaluate --model resnet --weights "$run/train/ema.pt" --dataset strokes \
  "${annealing[@]}" --seed 0 --out "$run/evaluate" --overwrite

"$root/.venv/bin/python" - "$run" << 'END'
import json
import pathlib
import sys

run = pathlib.Path(sys.argv[1])
ais = json.loads((run / "evaluate" / "ais.json").read_text())
model, pixels = ais["log_likelihood"]["test"], ais["baseline"]["test"]
warning = f"\nWarning: {ais['warning']}." if ais["warning"] else ""
print(f"""
Log-likelihood of the test images, in nats per image:
  this model           {model:8.1f}   (log Z with standard error {ais["log_z_se"]:.2f}, ESS of its weights {ais["weight_ess"]:.1f} of {ais["chains"]})
  independent pixels   {pixels:8.1f}
  difference           {model - pixels:+8.1f}
{ais["note"]}{warning}
Pictures of the strokes and of what the model draws:
  {run / "train" / "data.png"}
  {max((run / "train" / "samples").glob("*.png"))}""")
END
