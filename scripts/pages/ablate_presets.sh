#!/usr/bin/env bash
# Runs presets of `isinglass ablate`, each at a scale that takes minutes to an hour on one core, and puts the page
# and the numbers into docs/results/PRESET/.
#   scripts/pages/ablate_presets.sh [--data-dir DIR] [PRESET…]     default: all, in runs/presets/
# A preset that was cut off goes on where it was.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# PRESET:SCALE:SECONDS, the seconds being what a cell may take to converge (ablate --until-converged);
# 0 where the claims are of a finite time. Repeats are the preset's own, fixed before it runs.
scales=(
  parity:1:0 permutation:0.01:0 ising-50:0.04:20 ising-100:0.04:20 ising-150:0.04:20
  ising-200:0.04:20 fhl-flat:0.2:0 fhl-mixture:0.4:0 fhl-jem:0.1:0 lsb-bayesnet:0.5:60
  lsb-rbm:0.01:90 fhl-score:0.3:0 fhl-rings:1:0 fhl-image:0.05:0 fhl-fashion:0.05:0
  alpha-sigma:0.1:10 lsb-ising:0.1:20 ab-deep:0.02:15 ab-ising:0.005:15 ab-gaussian:0.002:20
  ab-logistic:0.01:10 ab-quartic:0.001:30 rbm:0.01:30 fhmm:0.001:30 lbj-bernoulli:0.001:4
  lbj-ising:0.002:4 lbj-rbm:0.005:4 lbj-categorical:0.0005:4 lbj-potts:0.0005:8
  lbj-fhmm:0.0001:12 ising-learning:0.01:0 ebm-static-mnist:0.0005:0
)

threads=${OMP_NUM_THREADS:-0}
data=()
if [[ ${1:-} == --data-dir ]]; then
  data=(--data-dir "$2")
  shift 2
fi

for entry in "${scales[@]}"; do
  IFS=: read -r preset scale seconds <<< "$entry"
  out=$root/runs/presets/$preset
  [[ $# == 0 || " $* " == *" $preset "* ]] || continue
  flags=("${data[@]}")
  if [[ $preset == ab-deep ]]; then flags+=(--weights "$root/weights/static-mnist-resnet16-11000.pt"); fi
  if [[ -d $out ]]; then
    "$root/build/isinglass" ablate --resume "$out" --threads "$threads"
  else
    "$root/build/isinglass" ablate --preset "$preset" --scale "$scale" --until-converged "$seconds" \
      "${flags[@]}" --threads "$threads" --out "$out"
  fi
  mkdir -p "$root/docs/results/$preset"
  for file in report.html results.csv results.json; do # paths of this machine stay here
    sed "s#$root/##g; s#$HOME/##g; s#${data[1]:-$root/data}#data#g" "$out/$file" \
      > "$root/docs/results/$preset/$file"
  done
done
python3 "$root/scripts/pages/share_chart.py"  # the pages share one copy of the chart library
python3 "$root/scripts/pages/results_index.py"
python3 "$root/scripts/pages/paper_page.py"
