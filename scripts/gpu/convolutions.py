"""Times LibTorch's convolutions with the shapes of a ResNet EBM on a GPU, in several precisions,
with their errors.

Usage: convolutions.py

For each shape (images, channels, side, stride) of a 3×3 convolution to 64 channels, it prints the
time of one call in a CUDA graph of 30 [µs] and, in brackets, the relative error against float64.
nchw and nhwc are float32 in the two layouts, and `-bench` means with cudnn.benchmark. 3xtf32 is one
TF32 convolution of numbers split in two, [hi, lo, hi] by [hi, hi, lo]. sgemm is the matrix product
of patches that have been extracted before.
"""
import torch
from torch.nn import functional

SHAPES = [(100, 64, 7, 1), (100, 64, 14, 1), (100, 64, 28, 2), (100, 64, 14, 2), (200, 64, 7, 1),
          (160, 64, 7, 1), (100, 1, 28, 1)]
CALLS = 30


def microseconds(call):
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            call()
    times = []
    for _ in range(7):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / CALLS * 1e3)
    return sorted(times[2:])[2]


def halves(x):
    high = (x.view(torch.int32) & ~0x1fff).view(torch.float32)
    return high, x - high


def last(x):
    return x.contiguous(memory_format=torch.channels_last)


def measure(images, channels, side, stride):
    x = torch.randn(images, channels, side, side, device="cuda")
    w = torch.randn(64, channels, 3, 3, device="cuda") / (9 * channels)**.5
    exact = functional.conv2d(x.double(), w.double(), None, stride, 1)
    (high, low), (w_high, w_low) = halves(last(x)), halves(last(w))
    pairs = {"nchw": (x, w, False), "nhwc": (last(x), last(w), False),
             "tf32": (last(x), last(w), True),
             "3xtf32": (last(torch.cat([high, low, high], 1)),
                        last(torch.cat([w_high, w_high, w_low], 1)), True)}
    for name, (a, b, tf32) in pairs.items():
        for benchmark in (False, True):
            torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark = tf32, benchmark
            time = microseconds(lambda a=a, b=b: functional.conv2d(a, b, None, stride, 1))
            error = ((functional.conv2d(a, b, None, stride, 1).double() - exact).norm() /
                     exact.norm())
            yield f"{name}{'-bench' if benchmark else ''} {time:.1f} ({error:.1e})"
    torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = False
    a, b = last(x).bfloat16(), last(w).bfloat16()
    yield f"bf16 {microseconds(lambda: functional.conv2d(a, b, None, stride, 1)):.1f}"
    rows = functional.unfold(x, 3, padding=1,
                             stride=stride).transpose(1, 2).flatten(0, 1).contiguous()
    columns = w.flatten(1).t().contiguous()
    yield f"sgemm {microseconds(lambda: rows @ columns):.1f}"


for shape in SHAPES:
    print(shape, *measure(*shape), sep="\n   ", flush=True)
