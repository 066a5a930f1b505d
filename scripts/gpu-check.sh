#!/usr/bin/env bash
# Everything that needs a GPU, on a machine that has one:
#   scripts/gpu-check.sh [BUNDLE] [OUT] [CHECK…]
# Of several CHECKs only these are done, such as "bench steps". BUNDLE is an archive of scripts/bundle.sh or the folder that was in it (default: the bundle that
# this script lies in, or else the archive in dist/), OUT gets the results (default gpu-check):
#   result.json   the device, and of every check whether it passed, its seconds and its log
#   *.log, *.json what the checks printed, and GoogleTest's reports
#   lattice-*/    summaries of chains on a lattice
#   bench/        the times of every stage, for isinglass bench --compare, and a trace of one
#                 training iteration, for chrome://tracing
#   measured.json the steps whose times are predicted, for scripts/gpu-predict.sh; steps.log has both
# Checks: the tests of the GPU, among them that the CPU and the GPU agree for every sampler; a short
# training; ranks with a GPU each, where there are two; the benchmark of a ResNet, without and with
# CUDA graphs; chains on a lattice; the steps of the predictions; memcheck, racecheck, initcheck and synccheck of this project's
# kernels in the GPU tests of a few steps, where compute-sanitizer is installed. The exit code is 0 if
# all passed. $ISINGLASS_PYTHON (default python3) is the Python with the bundle's PyTorch.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Sets `bundle` to the folder of the bundle $1, unpacking an archive to $2.
find_bundle() {
  local given=${1:-} archives
  if [[ -z $given && -d $root/libexec ]]; then given=$root; fi
  if [[ -z $given ]]; then
    archives=("$root"/dist/isinglass-*.tar.gz)
    given=${archives[-1]}
  fi
  [[ -e $given ]] || die "there is no bundle $given: make one with scripts/bundle.sh"
  bundle=$given
  if [[ -f $given ]]; then
    tar -xzf "$given" -C "$2" --strip-components 1
    bundle=$2
  fi
  [[ -x $bundle/bin/isinglass ]] || die "$given is no bundle: it lacks bin/isinglass"
  bundle=$(cd "$bundle" && pwd)
}

# The GPU's name, the driver's and PyTorch's versions, as JSON; fails with a sentence without a GPU.
describe_device() {
  "$python" -I - << 'END'
import json, sys
import torch
if not torch.cuda.is_available():
    sys.exit("isinglass: error: this machine has no GPU that PyTorch can use, so nothing was checked")
print(json.dumps({
    "device": torch.cuda.get_device_name(0),
    "capability": ".".join(map(str, torch.cuda.get_device_capability(0))),
    "memory_bytes": torch.cuda.get_device_properties(0).total_memory,
    "torch": torch.__version__}))
END
}

find_sanitizer() {
  command -v compute-sanitizer || compgen -G "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer" || true
}

# check NAME COMMAND…: runs it, its output to OUT/NAME.log, its outcome to the list of outcomes.
check() {
  local name=$1 start=$SECONDS outcome=passed
  shift
  wanted "$name" || return 0
  say "$name"
  "$@" > "$out/$name.log" 2>&1 || outcome=failed
  [[ $outcome == passed ]] || say "$name FAILED: see $out/$name.log"
  printf '%s\t%s\t%d\n' "$name" "$outcome" $((SECONDS - start)) >> "$outcomes"
}

# Whether check $1 is among those that were asked for.
wanted() { [[ ${#only[@]} == 0 || " ${only[*]} " == *" $1 "* ]]; }

pass_by() {
  wanted "$1" || return 0
  say "$1 is not checked: $2"
  printf '%s\t%s\t0\n' "$1" "not checked: $2" >> "$outcomes"
}

# The tests of one program whose suites end in Gpu. All of them skipped (exit code 77: some) is a
# failure.
gpu_tests() {
  local report=$out/$1.json code=0
  "$bundle/bin/$1" --gtest_filter='*Gpu.*:*Gpu/*' --gtest_output="json:$report" || code=$?
  [[ $code == 0 || $code == 77 ]] || return 1
  "$python" -I - "$report" << 'END'
import json, sys
tests = [t for s in json.load(open(sys.argv[1]))["testsuites"] for t in s["testsuite"]]
skipped = [t["name"] for t in tests if t["result"] == "SKIPPED"]
print(f"{len(tests)} tests, {len(skipped)} skipped", *skipped)
sys.exit(not tests or len(skipped) == len(tests))
END
}

has_gpu_tests() {
  "$bundle/bin/$1" --gtest_list_tests --gtest_filter='*Gpu.*:*Gpu/*' | grep '^  ' > /dev/null
}

# Ranks with a GPU each.
two_gpus() {
  ISINGLASS_BINARY=$bundle/bin/isinglass "$python" -B "$bundle/tests/ranks/gpu_test.py"
}

short_training() {
  "$bundle/bin/isinglass" train --dataset strokes --model resnet --channels 8 --sampler pafs \
    --iters 20 --device cuda --out "$out/train" --overwrite
}

# Many chains of a 50 x 50 Ising lattice, many steps a launch: its seconds and hops are the flips per
# second. $1: sampler and options.
lattice_steps() {
  # shellcheck disable=SC2086
  "$bundle/bin/isinglass" sample --instance ising-grid:side=50 --sampler $1 --chains 10000 \
    --burn-in 1000 --steps 2000 --thin 100 --no-samples --device cuda \
    --out "$out/lattice-${1%% *}" --overwrite
}

# The steps of docs/results/gpu-predictions.md, beside what is predicted for a device of this name.
predicted_steps() {
  local name
  name=$("$python" -I -c 'import json, sys; print(json.loads(sys.argv[1])["device"])' "$device")
  "$python" -I "$root/scripts/gpu/measure.py" "$bundle/bin/isinglass" "$out/measured.json" --name "$name"
}

# A tool of compute-sanitizer over our kernels in one step of every sampler, and in the other GPU tests
# of few steps; each tensor in memory of its own so that a stray index is seen. What is initialised is known of
# all kernels together alone: PyTorch's write, too.
sanitize() {
  local ours="--kernel-name kernel_substring=isinglass"
  [[ $1 != initcheck ]] || ours=
  local few='*SamplersGpu.OneStep*:HiddenSweepGpu.*:LocalStepGpu.*:HamiltonianGpu.*:TwoDevicesGpu.*'
  PYTORCH_NO_CUDA_MEMORY_CACHING=1 \
    ISINGLASS_UNDER="$sanitizer --tool $1 $ours --error-exitcode 9" \
    "$bundle/bin/engine_tests" --gtest_filter="$few"
}

summarise() {
  "$python" -I - "$outcomes" "$device" "$out/result.json" << 'END'
import json, sys
outcomes, device, result = sys.argv[1:]
checks = []
for line in open(outcomes):
    name, outcome, seconds = line.rstrip("\n").split("\t")
    checks.append({"name": name, "outcome": outcome, "seconds": int(seconds), "log": f"{name}.log"})
failed = [c["name"] for c in checks if c["outcome"] == "failed"]
if not checks:
    sys.exit("isinglass: error: there is no such check, so nothing was checked")
summary = dict(json.loads(device), passed=not failed, checks=checks)
with open(result, "w") as file:
    json.dump(summary, file, indent=2)
    file.write("\n")
print(f"isinglass: {summary['device']}: " +
      (f"failed: {', '.join(failed)}" if failed else f"all {len(checks)} passed or not checked"))
sys.exit(bool(failed))
END
}

out=${2:-gpu-check}
only=("${@:3}")
python=${ISINGLASS_PYTHON:-python3}
mkdir -p "$out"
out=$(cd "$out" && pwd)
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
find_bundle "${1:-}" "$unpacked"
"$bundle/bin/isinglass" --version > "$out/version.log" # PyTorch missing: the launcher says so
device=$(describe_device)
outcomes=$out/outcomes.tsv
: > "$outcomes"

for program in "$bundle"/bin/*_tests; do
  name=$(basename "$program")
  if has_gpu_tests "$name"; then check "$name" gpu_tests "$name"; fi
done
check train short_training
if [[ $("$python" -c "import torch; print(torch.cuda.device_count())") -ge 2 ]]; then
  check ranks two_gpus
else
  pass_by ranks "one GPU alone"
fi
check bench "$bundle/bin/isinglass" bench --model resnet --channels 64 --sampler pafs --radius 5 \
  --chains 100 --device cuda --repeats 21 --no-cuda-graph --profile --out "$out/bench" --overwrite
check bench-graph "$bundle/bin/isinglass" bench --model resnet --channels 64 --sampler pafs \
  --radius 5 --chains 100 --device cuda --repeats 21 --compare "$out/bench/bench.json"
for sampler in "gibbs --scan chromatic" "pafs --radius 5"; do
  check "lattice-${sampler%% *}" lattice_steps "$sampler"
done
check steps predicted_steps
sanitizer=$(find_sanitizer)
for tool in memcheck racecheck initcheck synccheck; do
  if [[ -n $sanitizer ]]; then
    check "$tool" sanitize "$tool"
  else
    pass_by "$tool" "compute-sanitizer is not installed"
  fi
done
summarise
