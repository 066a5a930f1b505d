#!/usr/bin/env bash
# Goes from nothing to an energy-based model whose likelihood is known:  scripts/demo.sh [DIR]
# (default runs/demo-strokes). It runs set-up and the build, and then the recipe residual-strokes,
# which trains a small RBM on the built-in pen strokes, measures its log Z, trains a network that
# corrects the RBM by a bounded number of nats, and measures the likelihood of that. Both verdicts
# say whether the likelihood can be quoted. After an interruption the script goes on where it ended.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

run=${1:-$root/runs/demo-strokes}

say "step 1 of 2: set-up and build, which takes long on a new machine"
"$root/scripts/build.sh" isinglass

say "step 2 of 2: the recipe residual-strokes, in five to seven minutes"
"$build/isinglass" recipe residual-strokes --out "$run"

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
Page:
  {run / "likelihood" / "report.html"}    the estimates

What to try next:
  build/isinglass data fetch static-mnist    # digits; then: build/isinglass train --dataset static-mnist --preset small
  build/isinglass sample --instance ising-grid:side=50,coupling=0.4 --sampler gibbs --scan chromatic    # a lattice""")
END
