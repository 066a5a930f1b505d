#!/usr/bin/env bash
# Goes from nothing to an energy-based model whose likelihood is known:  scripts/demo.sh [DIR]
# (default runs/demo). It runs set-up and the build, trains a small RBM on the built-in pen strokes
# by contrastive divergence, measures its log Z by annealing from both ends, trains a network that
# corrects the RBM by a bounded number of nats, and measures the likelihood of that. Both verdicts
# say whether the likelihood can be quoted.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

run=${1:-$root/runs/demo}

isinglass() { "$build/isinglass" "$@"; }
# Prints an entry of an evaluation's ais.json.
entry() { "$venv/bin/python" -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$@"; }

say "step 1 of 5: set-up and build, which takes long on a new machine"
"$root/scripts/build.sh" isinglass

say "step 2 of 5: training an RBM on strokes; the strokes are in $run/rbm/data.png"
isinglass train --dataset strokes --model rbm --hidden 200 --objective cd --sampler gibbs \
  --scan chromatic --iters 3000 --lr 1e-3 --warmup 0 --out "$run/rbm" --overwrite

say "step 3 of 5: annealing: how likely are images that the RBM has not seen?"
isinglass evaluate --weights "$run/rbm/ema.pt" --dataset strokes --chains 200 --steps 10000 \
  --out "$run/rbm-likelihood" --overwrite

say "step 4 of 5: training a network that corrects the RBM"
isinglass train --dataset strokes --model residual --objective nce \
  --base-model "rbm=$run/rbm/ema.pt" \
  --base-log-z "$(entry "$run/rbm-likelihood/ais.json" log_z_bidirectional)" \
  --base-log-z-error "$(entry "$run/rbm-likelihood/ais.json" log_z_bidirectional_se)" \
  --channels 16 --head linear --bound 3 --lr 3e-4 --warmup 50 --iters 800 \
  --out "$run/network" --overwrite

say "step 5 of 5: annealing from the RBM to the network"
isinglass evaluate --weights "$run/network/ema.pt" --dataset strokes --sampler surrogate \
  --sweeps 20 --chains 100 --steps 2000 --out "$run/likelihood" --overwrite
isinglass sample --model residual --weights "$run/network/ema.pt" --dataset strokes \
  --inpaint lower --sampler pafs --radius 8 --burn-in 300 --steps 300 --thin 10 \
  --out "$run/inpainted" --overwrite --quiet > /dev/null

"$venv/bin/python" - "$run" << 'END'
import json
import pathlib
import sys

run = pathlib.Path(sys.argv[1])
rbm, network = (json.loads((run / name / "ais.json").read_text())
                for name in ("rbm-likelihood", "likelihood"))


def line(name, found):
    test = found["log_likelihood"]["test"]
    why = f": {found['reason']}" if found["reason"] else ""
    return f"  {name:<24}{test['bidirectional']:8.1f}   {found['verdict']}{why}"


print(f"""
Log-likelihood of the test images, in nats per image, from both ends of log Z:
  {"independent pixels":<24}{rbm["baseline"]["test"]:8.1f}   exact
{line("RBM", rbm)}
{line("RBM and network", network)}
"Closed" means that the two ends agree, so that the number can be quoted.
Pictures:
  {run / "rbm" / "data.png"}    strokes
  {max((run / "rbm" / "samples").glob("*.png"))}    what the RBM draws
  {run / "inpainted" / "inpainted.png"}    strokes whose lower half the network fills in

What to try next:
  build/isinglass report {run / "likelihood"}    # a page with the estimates
  build/isinglass data fetch static-mnist    # digits; then: build/isinglass train --dataset static-mnist --preset small
  build/isinglass sample --instance ising-grid:side=50,coupling=0.4 --sampler gibbs --scan chromatic    # a lattice""")
END
