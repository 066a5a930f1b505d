"""Writes docs/results/gpu.md from what was measured on a GPU, docs/results/gpu-h100/.

Usage: gpu_page.py

The folder holds what these printed or wrote there, on one kind of machine:
  bench-first.log, bench-first-graph.log    scripts/gpu-check.sh: its two benchmarks (without and with CUDA graphs)
  measured.json, steps.log                  its steps, beside what was predicted of them then
  tests.tsv, checks.json                    its tests' outcomes, what the sanitizers found
  kernels.tsv                               the kernels of one step in the benchmark's profile.json
  bench-graph.log                           the same stages once an iteration was captured (404fdd8)
  training.log                              medians over the last 100 of 200 iterations of `isinglass train`, of its
                                            metrics.jsonl, there
  training-32.tsv                           of a ResNet-32's metrics.jsonl there (310f748): the
                                            median of every thousand iterations' milliseconds
  together.tsv                              the same of three ResNet-32 at once, each with --rungs 30, under NVIDIA's
                                            multi-process service (24fe019)
  bench-patches.log, kernels-patches.tsv    stages and kernels with products of patches (7b2a7de)
  agreement.tsv                             mean U of the chains in iterations of one training, on GPU and CPU
  peers.json, peers-full.json               scripts/gpu/peers.py, without and with --full
  convolutions.txt                          scripts/gpu/convolutions.py
"""
import collections
import json
import re
import statistics
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/results/gpu-h100"

# What is timed, the stage of `isinglass bench`, the published program's call.
BESIDE = [("U", "energy", "forward"), ("U and its gradient", "energy-gradient", "forward and gradient"),
          ("a PAFS step of R = 5", "step", "mscorrect-5"), ("a step of AIS", "ais-step", "ais step by gwg"),
          ("a training iteration of 10 steps", "training-iteration", "pcd iteration of 10 gwg steps")]

TEXT = """# On an H100

Everything here was measured on one {device} (driver {driver}, PyTorch {torch}, 16 cores of an Intel Xeon beside
it), by `scripts/gpu-check.sh`, `isinglass bench` and `scripts/gpu/peers.py`; the files are in
[gpu-h100/](gpu-h100/), and `scripts/pages/gpu_page.py` makes this page of them. Of V100s, A100s and others there are
[predictions](gpu-predictions.md) alone.

## A ResNet of 64 channels, 100 chains

`isinglass bench --model resnet --channels 64 --sampler pafs --radius 5 --chains 100 --steps-per-iter 10 --device cuda`:
energies in float32, the proposals' gradients in bfloat16. Beside it the published programs'
own code (wgrathwohl/GWG_release, ha0ransun/Path-Auxiliary-Sampler) on the same machine: in PyTorch's default, which
lets convolutions run in TF32, and all in float32. Their steps of AIS and of training are by GWG.

| | first, without graphs | first | an iteration captured | published, TF32 | published, float32 | times as fast as TF32 |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
{peers}

*First* is revision 163fd18, the first that ran on a GPU; *an iteration captured* has the loss, its gradient, the optimiser's step and the averages in
one CUDA graph, and uploads the images before the chains' steps (404fdd8). `bench` counts a run's first iterations, in
which graphs are captured. Later ones took {captured:.1f} ms, and {plain:.1f} with `--no-cuda-graph`: medians over the last 100 of
`isinglass train --model resnet --channels 64 --sampler pafs --radius 8 --steps-per-iter 10 --buffer 1000 --lr 1e-6
--warmup 100 --l2 1e-4 --iters 200 --dataset static-mnist --device cuda`. What has changed in an iteration since (both
batches of the loss in one call, the first evaluation captured) was not timed by itself. With it, at 310f748, a ResNet of
32 channels made {run32[0]} iterations in {run32[1]:.0f} s, {run32[2]:.1f} ms each, otherwise as above. Three such trainings at
once, each with 30 tempered chains besides (`--rungs 30`), under NVIDIA's multi-process service (`nvidia-cuda-mps-control -d`): {together:.1f} ms an
iteration of each, so that the card makes one in {shared:.1f}: small networks leave it room. The published programs wait for the GPU at every step, launch kernel by kernel, and call the network two to
six times a step; this is one call.

### Where a step's time goes

{kernels_total:.0f} µs of kernels, {launches} launches:

| kernel | launches | µs |
| --- | ---: | ---: |
{kernels}

Half is cuDNN's forward convolution in float32. Most are of 100 × 7 × 7 positions, 64 to 64 channels, which LibTorch takes
{nhwc:.0f} µs for, channels-last, and {nchw:.0f} channels-first: {rate:.0%} of what the card does in a product of 4096²
({sgemm:.0f} TFLOP/s, by the same `bench`). Another tenth of the step copies between layouts, inside cuDNN, whose fast kernels in
float32 want channels first; with other strides and batches those are the slower ones, though. `cudnn.benchmark` changes nothing.
A product of patches was tried in their place and taken out again: {product:.0f} µs each, and {patches:.0f} for our kernel that wrote the patches
(it divided in 64 bits): a step of {with_patches}. In TF32 that convolution takes {tf32:.0f} µs, with an error of {tf32_error}; one of
numbers split in two, {split:.0f} µs and {split_error}; in float32 it is {float32_error}. Energies stay float32.

## Predicted and measured

`scripts/gpu/measure.py`, at 163fd18, gradients in float32; the model is that of [the predictions](gpu-predictions.md).

| step | predicted | measured | measured / predicted |
| --- | ---: | ---: | ---: |
{predicted}

The median is {median:.1f} times the prediction. What it got wrong:

- *Libraries.* Convolutions were taken to run at the card's rate for products. Of so few positions they do not
  (above), and copies of layouts and an addition of the bias, a launch each, were not counted.
- *One warp a chain.* `draw_path` takes {draw:.0f} µs where {draw_predicted:.0f} were predicted, `score_path` {score:.0f} where {score_predicted:.0f} were: a warp's loads and
  exponentials wait for each other, and at 100 chains nothing else runs on its multiprocessor. More than anything else this
  says what to do next: several warps a chain.
- *Latency of shared memory and L2.* Steps of lattices take {lattice_least:.1f} to {lattice_most:.1f} times
  as long; but the chromatic sweep of 50×50, whose accesses are independent, is as predicted
  ({flips50:.0f} updates a nanosecond; of 1024×1024 {flips1024:.0f}).
- *The host.* A training iteration waited for its chains before the images could be uploaded, and then launched the
  kernels of its gradient one by one: {first_training:.0f} ms at first. Capturing it is the change above.

## Correct

{tests}

Of the same training of a ResNet-64 (10 steps an iteration, gradients in bfloat16) on the GPU and on a CPU, the chains' mean energies
differ by {differs:.0e} nats at most in the first {agreeing} iterations: they are the same chains, acceptance by acceptance.

| compute-sanitizer | tests under it that ended | errors |
| --- | ---: | ---: |
{sanitizers}

"""

SAID = {
    "memcheck": "", "synccheck": "",
    "racecheck": "; one process in five ran out of time in the test of `pas`",
    "initcheck": "; restricted to this project's kernels it does not see what PyTorch's write, and was of no use: "
                 "gpu-check.sh asks for all kernels now, and that has not run yet",
}


def ms(seconds):
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} µs"


def read(name):
    return (FOLDER / name).read_text(encoding="utf-8")


def stages(name):
    """{stage: seconds} of a table that `isinglass bench` printed."""
    rows = re.findall(r"^  ([a-z0-9-]+)\s+([0-9.e-]+) ", read(name), re.M)
    return {stage: float(milliseconds) / 1e3 for stage, milliseconds in rows}


def peers_rows():
    plain, first, now = (stages(f"{name}.log") for name in ("bench-first", "bench-first-graph", "bench-graph"))
    tf32, full = (json.loads(read(name))["seconds"] for name in ("peers.json", "peers-full.json"))
    for title, stage, call in BESIDE:
        theirs = [statistics.median(times[call]) for times in (tf32, full)]
        yield (f"| {title} | {ms(plain[stage])} | {ms(first[stage])} | {ms(now[stage])} | {ms(theirs[0])} | "
               f"{ms(theirs[1])} | {theirs[0] / now[stage]:.1f} |")


def kernel_rows():
    lines = [line.split("\t") for line in read("kernels.tsv").splitlines()[1:]]
    rows = [(int(launches), float(time), name) for launches, time, name in lines]
    shown = [f"| `{name}` | {launches} | {time:.0f} |" for launches, time, name in rows if time >= 5]
    return sum(r[0] for r in rows), sum(r[1] for r in rows), shown


def kernel_us(name, table="kernels.tsv"):
    """Of one launch."""
    rows = (line.split("\t") for line in read(table).splitlines()[1:])
    return next(float(time) / int(launches) for launches, time, kernel in rows if kernel.startswith(name))


def convolutions(shape):
    """{way: (µs, error)} of a shape of convolutions.txt."""
    part = read("convolutions.txt").split(f"{shape}\n")[1].split("\n(")[0]
    return {way: (float(time), error) for way, time, error in re.findall(r"(\S+) ([0-9.]+)(?: \((\S+)\))?", part)}


def predicted_us(kernel):
    """Of a PAFS step, on the page of predictions."""
    page = (ROOT / "docs/results/gpu-predictions.md").read_text(encoding="utf-8")
    return float(re.search(rf"resnet-64/pafs-5 \| `{kernel}` .*\| ([0-9.]+) µs \|", page).group(1))


def tests_text():
    counts = collections.Counter(line.split("\t")[0] for line in read("tests.tsv").splitlines())
    return (f"Of {sum(counts.values())} tests that need a GPU {counts['OK']} passed and {counts['FAILED']} failed; "
            f"{counts['SKIPPED']} needs two GPUs, and {counts['NOT REACHED']} were not reached in the time there was "
            "(tests.tsv). Among them every sampler's steps agree with the CPU's, and captured steps with plain ones.")


def main():
    measured = json.loads(read("measured.json"))["seconds"]
    predicted = {name: float(time.split()[0]) for name, _, time, _ in
                 (line.split("\t") for line in read("steps.log").splitlines()[1:])}
    checks = json.loads(read("checks.json"))
    agreement = [line.split("\t") for line in read("agreement.tsv").splitlines()[1:]]
    launches, total, kernels = kernel_rows()
    captured, plain = (float(time) for time in re.findall(r"last 100: ([0-9.]+)", read("training.log")))
    of_32 = [line.split("\t") for line in read("training-32.tsv").splitlines()[1:]]
    run32 = (1000 * len(of_32), float(of_32[-1][2]), statistics.median(float(row[1]) for row in of_32))
    together = statistics.median(float(line.split("\t")[2]) for line in read("together.tsv").splitlines()[1:])
    convolution, sgemm = convolutions((100, 64, 7, 1)), 2 * 4096**3 / stages("bench-first.log")["sgemm-4096"]
    lattices = [time / predicted[name] for name, time in measured.items()
                if name.startswith("ising") and name != "ising-50/chromatic"]
    text = TEXT.format(
        device=checks["device"], driver=checks["driver"], torch=checks["torch"],
        peers="\n".join(peers_rows()),
        captured=captured, plain=plain, run32=run32, together=together, shared=together / 3, sgemm=sgemm / 1e12,
        nhwc=convolution["nhwc"][0], nchw=convolution["nchw"][0],
        rate=2 * 4900 * 576 * 64 / (convolution["nchw"][0] * 1e-6) / sgemm, float32_error=convolution["nchw"][1],
        tf32=convolution["tf32"][0], tf32_error=convolution["tf32"][1],
        split=convolution["3xtf32"][0], split_error=convolution["3xtf32"][1],
        product=kernel_us("sm80_xmma_gemm", "kernels-patches.tsv"), patches=kernel_us("patches", "kernels-patches.tsv"),
        with_patches=ms(stages("bench-patches.log")["step"]),
        draw=kernel_us("draw_path"), draw_predicted=predicted_us("draw_path_kernel"),
        score=kernel_us("score_path"), score_predicted=predicted_us("score_path_kernel"),
        lattice_least=min(lattices), lattice_most=max(lattices),
        kernels="\n".join(kernels), kernels_total=total, launches=launches,
        predicted="\n".join(f"| {name} | {ms(predicted[name])} | {ms(time)} | {time / predicted[name]:.1f} |"
                            for name, time in measured.items()),
        median=statistics.median(time / predicted[name] for name, time in measured.items()),
        flips50=4096 * 2500 / measured["ising-50/chromatic"] / 1e9,
        flips1024=100 * 1024**2 / measured["ising-1024/chromatic"] / 1e9,
        first_training=1e3 * stages("bench-first-graph.log")["training-iteration"],
        tests=tests_text(), agreeing=len(agreement),
        differs=max(abs(float(gpu) - float(cpu)) for _, gpu, cpu in agreement),
        sanitizers="\n".join(f"| {s['tool']}{SAID[s['tool']]} | {s['tests']} | {s['errors']} |" for s in checks["sanitizers"]))
    (ROOT / "docs/results/gpu.md").write_text(text.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
