#!/usr/bin/env bash
# Runs every check that needs a GPU, on a machine that has one:
#   scripts/gpu-check.sh [BUNDLE] [OUT] [CHECK…]
# BUNDLE is an archive of scripts/bundle.sh or its unpacked folder (default: the bundle that
# contains this script, otherwise the archive in dist/). OUT is the folder for the results (default
# gpu-check). If CHECKs are given, for example "bench steps", only these are run. The results are:
#   result.json   the device, and for every check whether it passed, its seconds and its log
#   *.log, *.json output of the checks, and GoogleTest's reports
#   lattice-*/    summaries of chains on a lattice
#   bench/        the times of every stage, for isinglass bench --compare, and a trace of one
#                 training iteration, for chrome://tracing
#   measured.json the steps whose times are predicted, for scripts/gpu-predict.sh; steps.log has the
#                 measured and the predicted times
# The checks are: the GPU tests, which include the agreement of CPU and GPU for every sampler; a
# short training run; ranks with one GPU each, if there are two GPUs; the benchmark of a ResNet
# without and with CUDA graphs; chains on a lattice; the steps of the predictions; and, if
# compute-sanitizer is installed, memcheck, racecheck, initcheck and synccheck of this project's
# kernels in those GPU tests that take few steps. The exit code is 0 if all passed.
# $ISINGLASS_PYTHON (default python3) is the Python with the bundle's PyTorch.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Sets `bundle` to the folder of the bundle $1. An archive is unpacked to $2.
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

# Prints the GPU's name, capability and memory and PyTorch's version, as JSON. Fails with a message
# if there is no GPU.
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

# check NAME COMMAND… runs the command, with its output in OUT/NAME.log, and appends the outcome to
# the list of outcomes.
check() {
  local name=$1 start=$SECONDS outcome=passed
  shift
  wanted "$name" || return 0
  say "$name"
  "$@" > "$out/$name.log" 2>&1 || outcome=failed
  [[ $outcome == passed ]] || say "$name FAILED: see $out/$name.log"
  printf '%s\t%s\t%d\n' "$name" "$outcome" $((SECONDS - start)) >> "$outcomes"
}

# Succeeds if the check $1 was asked for.
wanted() { [[ ${#only[@]} == 0 || " ${only[*]} " == *" $1 "* ]]; }

pass_by() {
  wanted "$1" || return 0
  say "$1 is not checked: $2"
  printf '%s\t%s\t0\n' "$1" "not checked: $2" >> "$outcomes"
}

# Runs the tests of one program whose suites end in Gpu. Exit code 77 means that some were skipped;
# if all were, this is a failure.
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

# Tests ranks with one GPU each.
two_gpus() {
  ISINGLASS_BINARY=$bundle/bin/isinglass "$python" -B "$bundle/tests/ranks/gpu_test.py"
}

short_training() {
  "$bundle/bin/isinglass" train --dataset strokes --model resnet --channels 8 --sampler pafs \
    --iters 20 --device cuda --out "$out/train" --overwrite
}

# Runs many chains of a 50 x 50 Ising lattice with many steps per launch. The summary's seconds and
# hops give the flips per second. $1 holds the sampler and its options.
lattice_steps() {
  # shellcheck disable=SC2086
  "$bundle/bin/isinglass" sample --instance ising-grid:side=50 --sampler $1 --chains 10000 \
    --burn-in 1000 --steps 2000 --thin 100 --no-samples --device cuda \
    --out "$out/lattice-${1%% *}" --overwrite
}

# Measures the steps of docs/results/gpu-predictions.md, and shows the predictions for a device of
# this name.
predicted_steps() {
  local name
  name=$("$python" -I -c 'import json, sys; print(json.loads(sys.argv[1])["device"])' "$device")
  "$python" -I "$root/scripts/gpu/measure.py" "$bundle/bin/isinglass" "$out/measured.json" --name "$name"
}

# Runs a tool of compute-sanitizer on this project's kernels in one step of every sampler and in
# other GPU tests with few steps. Each tensor gets its own allocation, so that a stray index is
# detected. initcheck has to see all kernels, because PyTorch's kernels initialise memory, too.
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
