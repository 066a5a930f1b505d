"""Writes docs/results/gpu.md from what was measured on a GPU, docs/results/gpu-h100/.

Usage: gpu_page.py

The folder contains the output of these commands, from one kind of machine:
  bench-first.log, bench-first-graph.log  the two benchmarks of scripts/gpu-check.sh (without and
                                          with CUDA graphs)
  measured.json, steps.log                the steps of scripts/gpu-check.sh, and their predictions
                                          at the time
  tests.tsv, checks.json                  the outcomes of its tests, and the findings of the
                                          sanitizers
  kernels.tsv                             the kernels of one step in the benchmark's profile.json
  bench-graph.log                         the same stages once an iteration was captured (404fdd8)
  training.log                            medians over the last 100 of 200 iterations of
                                          `isinglass train`, of its metrics.jsonl, there
  training-32.tsv                         of a ResNet-32's metrics.jsonl there (310f748): the
                                          median of every thousand iterations' milliseconds
  together.tsv                            the same of three ResNet-32 at once, each with --rungs 30,
                                          under NVIDIA's multi-process service (24fe019)
  bench-patches.log, kernels-patches.tsv  stages and kernels with products of patches (7b2a7de)
  agreement.tsv                           mean U of the chains in iterations of one training, on GPU
                                          and CPU
  peers.json, peers-full.json             scripts/gpu/peers.py, without and with --full
  convolutions.txt                        scripts/gpu/convolutions.py
"""
import collections
import json
import re
import statistics
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/results/gpu-h100"

# Each row: its name, the stage of `isinglass bench`, and the call of the published program.
BESIDE = [("U", "energy", "forward"),
          ("U and its gradient", "energy-gradient", "forward and gradient"),
          ("a PAFS step of R = 5", "step", "mscorrect-5"),
          ("a step of AIS", "ais-step", "ais step by gwg"),
          ("a training iteration of 10 steps", "training-iteration",
           "pcd iteration of 10 gwg steps")]

TEXT = """# On an H100

This page has the times of a ResNet-64 on an NVIDIA H100 beside published programs, the measured
times of other steps beside their predictions, and the results of the tests on a GPU. Other GPUs
(V100, A100 and others) have [predictions](gpu-predictions.md) only. All networks on this page ran
by LibTorch's convolutions: the kernel that computes a ResNet whole
([using a GPU](../howto/gpu.md#faster-steps)) is newer.

## A ResNet of 64 channels, 100 chains

| | first, without graphs | first | an iteration captured | published, TF32 | published, float32 | \
times as fast as TF32 |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
{peers}

- *First* is revision 163fd18, the first that ran on a GPU. *An iteration captured* is revision
  404fdd8: one CUDA graph contains the loss, its gradient, the optimiser's step and the averages,
  and images are uploaded before the steps of the chains.
- *Published* is the published programs' own code (wgrathwohl/GWG_release,
  ha0ransun/Path-Auxiliary-Sampler) on the same machine: in PyTorch's default, in which convolutions
  may run in TF32, and all in float32. Their steps of AIS and of training use GWG.
- Ours computes energies in float32 and the gradients of proposals in bfloat16.

The published programs wait for the GPU at every step, launch each kernel separately, and call the
network two to six times a step. Here a step is one call.

Training:

| training | ms an iteration |
| --- | ---: |
| ResNet-64, later iterations | {captured:.1f} |
| the same with `--no-cuda-graph` | {plain:.1f} |
| ResNet-32, {run32[0]} iterations in {run32[1]:.0f} s (310f748) | {run32[2]:.1f} |
| ResNet-32, three trainings at once with 30 tempered chains each (`--rungs 30`), each of them | \
{together:.1f} |

The table above includes the first iterations of a run, in which graphs are captured; the rows of
this table do not. Three trainings at once make one iteration in {shared:.1f} ms: a small network
does not fill the card. They ran under NVIDIA's multi-process service
(`nvidia-cuda-mps-control -d`).

### How it was measured

One {device} (driver {driver}, PyTorch {torch}, 16 cores of an Intel Xeon), by
`scripts/gpu-check.sh`, `isinglass bench` and `scripts/gpu/peers.py`. The files are in
[gpu-h100/](gpu-h100/), and `scripts/pages/gpu_page.py` writes this page from them. The first table
is

```
isinglass bench --model resnet --channels 64 --sampler pafs --radius 5 --chains 100 \
--steps-per-iter 10 --device cuda
```

The second table has medians, of the ResNet-64 over the last 100 iterations of

```
isinglass train --model resnet --channels 64 --sampler pafs --radius 8 --steps-per-iter 10 \
--buffer 1000 --lr 1e-6 --warmup 100 --l2 1e-4 --iters 200 --dataset static-mnist --device cuda
```

The ResNet-32 were trained with the same settings except the channels. Between 404fdd8 and 310f748
both batches of the loss became one call and the first evaluation was captured; these changes were
not timed separately.

### Where a step's time goes

{kernels_total:.0f} µs of kernels, {launches} launches:

| kernel | launches | µs |
| --- | ---: | ---: |
{kernels}

- Half of the time is cuDNN's forward convolution in float32. Most of these have 100 × 7 × 7
  positions, and 64 channels in and out. LibTorch takes {nhwc:.0f} µs for one in channels-last \
layout, and
  {nchw:.0f} µs in channels-first, which is {rate:.0%} of the rate of a product of 4096²
  ({sgemm:.0f} TFLOP/s, by the same `bench`).
- Another tenth of the step is copies between layouts inside cuDNN, whose fast kernels in float32
  use channels-first. With other strides and batch sizes these kernels are the slower ones.
  `cudnn.benchmark` changes nothing.
- In TF32 that convolution takes {tf32:.0f} µs with an error of {tf32_error}. With each number split
  into a sum of two TF32 numbers it takes {split:.0f} µs with an error of {split_error}. \
In float32 the
  error is {float32_error}. Energies stay in float32.

## Predicted and measured

| step | predicted | measured | measured / predicted |
| --- | ---: | ---: | ---: |
{predicted}

`scripts/gpu/measure.py` measured these steps at 163fd18, with gradients in float32; the model is
that of [the predictions](gpu-predictions.md). The median of the ratios is {median:.1f}. The model
was wrong about:

- *Libraries.* The model assumes that convolutions run at the card's rate for products. With so few
  positions they do not ([above](#where-a-steps-time-goes)). Copies of layouts and the addition of
  the bias, one launch each, were not counted.
- *One warp a chain.* `draw_path` takes {draw:.0f} µs where {draw_predicted:.0f} were predicted, and
  `score_path` {score:.0f} where {score_predicted:.0f} were. The loads and exponentials of a warp
  wait for each other, and at 100 chains nothing else runs on its multiprocessor.
- *Latency of shared memory and L2.* Steps of lattices take {lattice_least:.1f} to
  {lattice_most:.1f} times as long as predicted. The chromatic sweep of 50×50, whose accesses are
  independent, is as predicted ({flips50:.0f} updates a nanosecond; {flips1024:.0f} for 1024×1024).
- *The host.* A training iteration waited for its chains before the images could be uploaded, and
  then launched the kernels of its gradient one by one: {first_training:.0f} ms at first. Capturing
  the iteration is the change described above.

## Tests on the GPU

{tests}

A ResNet-64 was trained with the same settings on the GPU and on a CPU (10 steps an iteration,
gradients in bfloat16). The mean energies of the chains differ by {differs:.0e} nats at most in the
first {agreeing} iterations: the chains are the same, acceptance by acceptance.

| compute-sanitizer | tests that ended under it | errors |
| --- | ---: | ---: |
{sanitizers}

## What is open

- Several warps a chain for `draw_path` and `score_path`, which is the largest gain that the
  comparison of predicted and measured times suggests.
- The tests that were not reached, and `initcheck` over all kernels, have not run.
- Other GPUs have not been measured.

## Tried and not kept

Products with image patches were tried in place of the convolutions. \
Each took {product:.0f} µs, and our
kernel that wrote the patches, which divided 64-bit integers, {patches:.0f} µs. \
The step took {with_patches}.

"""

SAID = {
    "memcheck": "", "synccheck": "",
    "racecheck": "; one process in five ran out of time in the test of `pas`",
    "initcheck": "; restricted to this project's kernels, it does not see what PyTorch's kernels "
                 "write and was of no use; gpu-check.sh now checks all kernels, "
                 "which has not run yet",
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
    plain, first, now = (stages(f"{name}.log")
                         for name in ("bench-first", "bench-first-graph", "bench-graph"))
    tf32, full = (json.loads(read(name))["seconds"] for name in ("peers.json", "peers-full.json"))
    for title, stage, call in BESIDE:
        theirs = [statistics.median(times[call]) for times in (tf32, full)]
        yield (f"| {title} | {ms(plain[stage])} | {ms(first[stage])} | {ms(now[stage])} | "
               f"{ms(theirs[0])} | {ms(theirs[1])} | {theirs[0] / now[stage]:.1f} |")


def kernel_rows():
    lines = [line.split("\t") for line in read("kernels.tsv").splitlines()[1:]]
    rows = [(int(launches), float(time), name) for launches, time, name in lines]
    shown = [f"| `{name}` | {launches} | {time:.0f} |"
             for launches, time, name in rows if time >= 5]
    return sum(r[0] for r in rows), sum(r[1] for r in rows), shown


def kernel_us(name, table="kernels.tsv"):
    """Returns the mean time of one launch [µs]."""
    rows = (line.split("\t") for line in read(table).splitlines()[1:])
    return next(float(time) / int(launches)
                for launches, time, kernel in rows if kernel.startswith(name))


def convolutions(shape):
    """{way: (µs, error)} of a shape of convolutions.txt."""
    part = read("convolutions.txt").split(f"{shape}\n")[1].split("\n(")[0]
    return {way: (float(time), error)
            for way, time, error in re.findall(r"(\S+) ([0-9.]+)(?: \((\S+)\))?", part)}


def predicted_us(kernel):
    """Returns the predicted time of a kernel in a PAFS step [µs], from the page of predictions."""
    page = (ROOT / "docs/results/gpu-predictions.md").read_text(encoding="utf-8")
    return float(re.search(rf"resnet-64/pafs-5 \| `{kernel}` .*\| ([0-9.]+) µs \|", page).group(1))


def tests_text():
    counts = collections.Counter(line.split("\t")[0] for line in read("tests.tsv").splitlines())
    return (f"Of {sum(counts.values())} tests that need a GPU, {counts['OK']} passed and "
            f"{counts['FAILED']} failed. {counts['SKIPPED']} needs two GPUs, "
            f"and\n{counts['NOT REACHED']} were not reached in the available time (tests.tsv). The "
            "tests show, among other things,\nthat the steps of every sampler agree with those on "
            "the CPU, and captured steps with plain ones.")


def main():
    measured = json.loads(read("measured.json"))["seconds"]
    predicted = {name: float(time.split()[0]) for name, _, time, _ in
                 (line.split("\t") for line in read("steps.log").splitlines()[1:])}
    checks = json.loads(read("checks.json"))
    agreement = [line.split("\t") for line in read("agreement.tsv").splitlines()[1:]]
    launches, total, kernels = kernel_rows()
    captured, plain = (float(time)
                       for time in re.findall(r"last 100: ([0-9.]+)", read("training.log")))
    of_32 = [line.split("\t") for line in read("training-32.tsv").splitlines()[1:]]
    run32 = (1000 * len(of_32), float(of_32[-1][2]),
             statistics.median(float(row[1]) for row in of_32))
    together = statistics.median(float(line.split("\t")[2])
                                 for line in read("together.tsv").splitlines()[1:])
    convolution, sgemm = (convolutions((100, 64, 7, 1)),
                          2 * 4096**3 / stages("bench-first.log")["sgemm-4096"])
    lattices = [time / predicted[name] for name, time in measured.items()
                if name.startswith("ising") and name != "ising-50/chromatic"]
    text = TEXT.format(
        device=checks["device"], driver=checks["driver"], torch=checks["torch"],
        peers="\n".join(peers_rows()),
        captured=captured, plain=plain, run32=run32, together=together, shared=together / 3,
        sgemm=sgemm / 1e12, nhwc=convolution["nhwc"][0], nchw=convolution["nchw"][0],
        rate=2 * 4900 * 576 * 64 / (convolution["nchw"][0] * 1e-6) / sgemm,
        float32_error=convolution["nchw"][1], tf32=convolution["tf32"][0],
        tf32_error=convolution["tf32"][1],
        split=convolution["3xtf32"][0], split_error=convolution["3xtf32"][1],
        product=kernel_us("sm80_xmma_gemm", "kernels-patches.tsv"),
        patches=kernel_us("patches", "kernels-patches.tsv"),
        with_patches=ms(stages("bench-patches.log")["step"]),
        draw=kernel_us("draw_path"), draw_predicted=predicted_us("draw_path_kernel"),
        score=kernel_us("score_path"), score_predicted=predicted_us("score_path_kernel"),
        lattice_least=min(lattices), lattice_most=max(lattices),
        kernels="\n".join(kernels), kernels_total=total, launches=launches,
        predicted="\n".join(f"| {name} | {ms(predicted[name])} | {ms(time)} | "
                            f"{time / predicted[name]:.1f} |"
                            for name, time in measured.items()),
        median=statistics.median(time / predicted[name] for name, time in measured.items()),
        flips50=4096 * 2500 / measured["ising-50/chromatic"] / 1e9,
        flips1024=100 * 1024**2 / measured["ising-1024/chromatic"] / 1e9,
        first_training=1e3 * stages("bench-first-graph.log")["training-iteration"],
        tests=tests_text(), agreeing=len(agreement),
        differs=max(abs(float(gpu) - float(cpu)) for _, gpu, cpu in agreement),
        sanitizers="\n".join(f"| {s['tool']}{SAID[s['tool']]} | {s['tests']} | {s['errors']} |"
                             for s in checks["sanitizers"]))
    (ROOT / "docs/results/gpu.md").write_text(text.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
