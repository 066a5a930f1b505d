#!/usr/bin/env bash
# Runs presets of `isinglass ablate`, each at a scale that takes minutes on two cores, and puts the page
# and the numbers into docs/results/PRESET/.
#   scripts/ablate_presets.sh [--data-dir DIR] [PRESET…]     default: all, in runs/presets/
# A preset that was cut off goes on where it was.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

scales=(
  parity:1 permutation:0.001 ising-50:0.02 ising-100:0.005 ising-150:0.002 ising-200:0.001 fhmm:0.0001
  rbm:0.1 lbj-bernoulli:0.0002 lbj-categorical:0.0002 lbj-ising:0.001 lbj-potts:0.0005 lbj-fhmm:0.00005
  lbj-rbm:0.002 ab-ising:0.001 ab-gaussian:0.0005 ab-logistic:0.005 ab-quartic:0.0001 lsb-ising:0.05
  lsb-rbm:0.002 lsb-bayesnet:0.2 ab-deep:0.02 alpha-sigma:1 fhl-mixture:0.2 fhl-rings:0.05
  fhl-flat:0.1 fhl-image:0.02 fhl-score:0.02 fhl-jem:0.1 fhl-fashion:0.01
)

threads=${OMP_NUM_THREADS:-0}
data=()
if [[ ${1:-} == --data-dir ]]; then
  data=(--data-dir "$2")
  shift 2
fi

for entry in "${scales[@]}"; do
  preset=${entry%%:*} out=$root/runs/presets/${entry%%:*}
  [[ $# == 0 || " $* " == *" $preset "* ]] || continue
  flags=("${data[@]}")
  if [[ $preset == ab-deep ]]; then flags+=(--weights "$root/weights/static-mnist-resnet16.pt"); fi
  if [[ -d $out ]]; then
    "$root/build/isinglass" ablate --resume "$out" --threads "$threads"
  else
    "$root/build/isinglass" ablate --preset "$preset" --scale "${entry#*:}" "${flags[@]}" \
      --threads "$threads" --out "$out"
  fi
  mkdir -p "$root/docs/results/$preset"
  for file in report.html results.csv results.json; do # paths of this machine stay here
    sed "s#$root/##g; s#$HOME/##g; s#${data[1]:-$root/data}#data#g" "$out/$file" \
      > "$root/docs/results/$preset/$file"
  done
done
