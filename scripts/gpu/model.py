"""Predicts the time of a step on GPUs that are not available, from the counts of the interpreter
(gpu_counters).

Usage: model.py COUNTERS --binary LIBRARY [--cubins FOLDER] [--measured FILE…] --page FILE
           --predictions FILE

Writes the page (docs/results/gpu-predictions.md) and the predictions: {"seconds": {device: {step:
seconds}}, "launches": {kernel: [threads, shared memory]}}.

COUNTERS is the output of build/gpu_counters; registers are read from the machine code in LIBRARY
and FOLDER (static.py). A measured FILE is {"device": name, "revision": …, "seconds": {step:
seconds}}, which scripts/gpu-check.sh writes on a GPU.

The model is a roofline with launch latency. A kernel takes as long as the slowest of
  memory    bytes of different sectors / bandwidth of DRAM, or of L2 if a launch's data fit into it
  L1        sectors / (active multiprocessors × 4 a cycle)
  shared    accesses and bank conflicts / (active multiprocessors × 1 a cycle)
  issue     instructions of accesses, Philox, fused products and warp operations /
            (active multiprocessors × 4 a cycle)
  products  fused products (fmaf) / the active multiprocessors' share of the peak in float32
  latency   waves of blocks × the longest warp's latencies, with `in_flight` loads at a time
LibTorch's products take FLOPs / peak in float32, or their bytes / bandwidth. Kernels of a stream
run one after the other with a gap between them; without a graph, the host's launches may take
longer. Effects that are left out make times longer: arithmetic other than Philox and products
(including exp in float64), cache misses, libraries below the peak.
"""
import argparse
import copy
import json
import sys
import tomllib
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import measure
import static

HERE = Path(__file__).parent
SECTOR = 32


def read_devices():
    table = tomllib.loads((HERE / "devices.toml").read_text(encoding="utf-8"))
    common, published = table.pop("all"), table.pop("published")
    return {name: {**common, **numbers} for name, numbers in table.items()}, published


def accesses(warps):
    return warps["loads"] + warps["stores"] + warps["atomics"]


def latency(warp, d):
    """Returns the seconds from a warp's first instruction to its last."""
    cycles = (((warp["loads"] + warp["atomics"]) * d["global"] + warp["shared"] * d["shared"]) /
              d["in_flight"])
    cycles += warp["bank_conflicts"] + warp["philox"] * d["philox"] + warp["fused"]
    cycles += warp["operations"] * d["operation"] + warp["barriers"] * d["barrier"]
    return cycles / d["clock"]


def flops_of(launch):
    return 2 * 32 * launch["warps"]["fused"]


def kernel_seconds(launch, d, registers_of):
    """Returns {bound: seconds} for a launch."""
    warps, clock = launch["warps"], d["clock"]
    blocks, threads = max(1, launch["blocks"]), launch["threads"]
    registers, own_shared = registers_of(launch["kernel"], d["capability"])
    resident, _ = static.occupancy(d["capability"], threads, registers,
                                   own_shared + launch["shared_bytes"])
    at_work = min(d["sms"], blocks)
    waves = -(-blocks // (d["sms"] * max(1, resident)))
    moved = launch["bytes_read"] + launch["bytes_written"]
    instructions = (d["access_instructions"] * (accesses(warps) + warps["shared"]) +
                    2 * warps["operations"] +
                    d["philox_instructions"] * warps["philox"] + warps["fused"])
    # All but the last of the waves fill the device.
    share = blocks / (-(-blocks // d["sms"]) * d["sms"])
    return {
        "memory": moved / (d["l2"] if moved <= d["l2_bytes"] else d["dram"]),
        "L1": (warps["load_sectors"] + warps["store_sectors"]) / (4 * at_work * clock),
        "shared": (warps["shared"] + warps["bank_conflicts"]) / (at_work * clock),
        "issue": instructions / (4 * at_work * clock),
        "products": flops_of(launch) / (d["float32"] * share),
        "latency": waves * latency(launch["longest"], d),
    }


class Load:
    """Holds the work of a stream: seconds of this project's kernels, of products and of LibTorch's
    other calls, and counts."""

    def __init__(self, counted, d, registers_of):
        self.shares, self.kernels = Counter(), 0.0
        for launch in counted["launches"]:
            bounds = kernel_seconds(launch, d, registers_of)
            worst = max(bounds, key=bounds.get)
            self.kernels += bounds[worst]
            self.shares[worst] += bounds[worst]
        flops = (counted["flops"] * counted["steps"] -
                 sum(flops_of(launch) for launch in counted["launches"]))
        self.products = max(0, flops) / d["float32"]
        self.library = sum(c["bytes"] / (d["l2"] if c["bytes"] <= d["l2_bytes"] else d["dram"])
                           for c in counted["library"])
        self.launches, self.operators = len(counted["launches"]), len(counted["library"])

    def without(self, other, times):
        """Returns the work that remains after subtracting `other` the given number of times."""
        rest = copy.copy(self)
        for name in ("kernels", "products", "library", "launches", "operators"):
            setattr(rest, name, getattr(self, name) - times * getattr(other, name))
        return rest

    def device(self, gap):
        return (self.kernels + max(self.products, self.library) +
                (self.launches + self.operators) * gap)

    def by_calls(self, d):
        return max(self.device(d["gap"]),
                   self.launches * d["launch"] + self.operators * d["operator"])

    def in_graph(self, d):
        return min(self.device(d["graph_gap"]), self.by_calls(d))


def predict(w, data, d, registers_of):
    """Returns the seconds of a step with a CUDA graph, the seconds without one, and the bound."""
    def load(workload):
        return Load(workload["capabilities"][d["capability"]], d, registers_of)

    counted, all_of_it = w["capabilities"][d["capability"]], load(w)
    if "graph" in w:  # only a part of the step is captured
        captured, times = (load(next(x for x in data if x["name"] == w["graph"]["of"])),
                           w["graph"]["times"])
        graph = times * captured.in_graph(d) + all_of_it.without(captured, times).by_calls(d)
    else:
        graph = all_of_it.in_graph(d)
    shares = all_of_it.shares
    larger = max(all_of_it.products, all_of_it.library)
    if larger > 0:
        shares["products" if all_of_it.products > all_of_it.library else "library"] += larger
    shares["launches"] = (all_of_it.launches + all_of_it.operators) * d["graph_gap"]
    return (graph / counted["steps"], all_of_it.by_calls(d) / counted["steps"],
            shares.most_common(1)[0][0])


def time_text(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def count_text(value):
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.3g}"


INTRODUCTION = """# Predicted times on GPUs

**Nothing on this page but the columns “measured” and “published” was timed on a GPU.** \
`scripts/gpu-predict.sh` wrote
it on a machine without one: the program's own steps run on a GPU that is played, \
their kernels under an interpreter
that counts ([how](../howto/gpu.md#what-is-checked-without-one)), \
and a model turns the counts into times. The
model, in [scripts/gpu/model.py](../../scripts/gpu/model.py), is a roofline with launch latency; \
the devices' numbers and
their sources are in [scripts/gpu/devices.toml](../../scripts/gpu/devices.toml). \
What it leaves out makes times longer:
arithmetic other than random numbers and products, exponentials in float64 among it; \
caches that miss; libraries
below their peak. `scripts/gpu-check.sh`, on a GPU, measures the same steps and puts them beside:
[what they got wrong](gpu.md#predicted-and-measured) of an H100, \
on which most steps took several times as long.
"""


def counters_section(data):
    text = ("\n## Counters\n\nOf a step, of all chains, on a GPU of capability 9.0 (less shared "
            "memory makes other launches where it says so). *Launches* are of this project's "
            "kernels, *library* LibTorch's; kernels that take many steps a launch have a fraction. "
            "*Sectors* are 32 bytes of global memory of a warp's access; "
            "*bytes* count a sector once a launch; *warp turns* are accesses of shared memory with "
            "the turns that they wait for a bank; *calls* those of lanes.\n\n"
            "| step | chains | launches | library | waits | load sectors | store sectors | "
            "bytes | warp turns | Philox calls | barriers | atomics |\n| --- |" + " ---: |" * 11 +
            "\n")
    for w in data:
        shown = []
        for capability in ("9.0", "7.5"):
            c = w["capabilities"][capability]
            steps, launches = c["steps"], c["launches"]

            def total(value, launches=launches, steps=steps):
                return sum(value(x) for x in launches) / steps

            row = [f"{len(launches) / steps:.3g}", f"{len(c['library']) / steps:.3g}",
                   f"{sum(x['waits'] for x in c['library']) / steps:.3g}"]
            row += [count_text(total(value)) for value in (
                lambda x: x["warps"]["load_sectors"], lambda x: x["warps"]["store_sectors"],
                lambda x: x["bytes_read"] + x["bytes_written"],
                lambda x: x["warps"]["shared"] + x["warps"]["bank_conflicts"],
                lambda x: x["philox_calls"], lambda x: x["barriers"],
                lambda x: x["warps"]["atomics"])]
            if row in shown:
                continue
            name = w["what"] + ("" if capability == "9.0" else f", on {capability}")
            text += f"| {name} | {w['chains']} | " + " | ".join(row) + " |\n"
            shown.append(row)
    return text


def kernels_section(data):
    text = ("\n## Kernels\n\nOf a step on an H100's limits: the share of this project's kernels' "
            "predicted time, and the bound that sets it.\n\n"
            "| step | kernel | launches | blocks × threads | shared memory | "
            "load sectors a warp access | bound | H100 |\n"
            "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: |\n")
    devices, _ = read_devices()
    d = devices["H100"]
    for w in data:
        c = w["capabilities"]["9.0"]
        kernels = {}
        for launch in c["launches"]:
            kernels.setdefault(launch["kernel"], []).append(launch)
        for kernel, launches in kernels.items():
            bounds = [kernel_seconds(x, d, w["registers"]) for x in launches]
            seconds = sum(max(b.values()) for b in bounds) / c["steps"]
            loads = sum(x["warps"]["loads"] for x in launches)
            sectors = sum(x["warps"]["load_sectors"] for x in launches)
            text += (f"| {w['name']} | `{kernel}` | {len(launches) / c['steps']:.3g} | "
                     f"{launches[0]['blocks']:.0f} × {launches[0]['threads']} | "
                     f"{launches[0]['shared_bytes']} | {sectors / loads if loads else 0:.3g} | "
                     f"{max(bounds[0], key=bounds[0].get)} | {time_text(seconds)} |\n")
    return text


def page(data, measured, registers_of, revision):
    devices, published = read_devices()
    for w in data:
        w["registers"] = registers_of
    missing = [name for name in measure.listed() if name not in {w["name"] for w in data}]
    text = INTRODUCTION + f"\nOf the kernels at revision {revision}."
    if missing:
        text += f" Not counted in this run: {', '.join(missing)}."
    text += ("\n\n## Times of a step\n\nPredicted, with the step in a CUDA graph; in "
             "brackets, where it is longer by a tenth, without (`--no-cuda-graph`); the bound is "
             "that of the H100.\n\n| step | chains | " +
             " | ".join(devices) + " | bound | measured | published |\n| --- | ---: |" +
             " ---: |" * len(devices) +
             " --- | --- | --- |\n")
    for w in data:
        cells, bounds = [], {}
        for device, d in devices.items():
            graph, plain, bounds[device] = predict(w, data, d, registers_of)
            cells.append(time_text(graph) +
                         (f" ({time_text(plain)})" if plain > 1.1 * graph else ""))
        seen = [f"{m['device']} at {m['revision'][:7]}: {time_text(m['seconds'][w['name']])}"
                for m in measured if w["name"] in m["seconds"]]
        said = [f"{p['device']}: " +
                (time_text(p["seconds"]) if "seconds" in p
                 else f"{p['flips'] / 1e9:.0f} flips/ns") + f" [^{i + 1}]"
                for i, p in enumerate(published) if p["workload"] == w["name"]]
        text += (f"| {w['what']} | {w['chains']} | " + " | ".join(cells) +
                 f" | {bounds['H100']} | {', '.join(seen) or '–'} | {', '.join(said) or '–'} |\n")
    text += flips_section(data, devices, registers_of)
    names = {w["name"] for w in data}
    text += ("\n" + "".join(f"[^{i + 1}]: {p['source']}.\n"
                            for i, p in enumerate(published) if p["workload"] in names))
    return text + counters_section(data) + kernels_section(data)


def flips_section(data, devices, registers_of):
    text = "\nSweeps of lattices in site updates a nanosecond, predicted: "
    parts = []
    for w in data:
        if not w["name"].endswith("/chromatic"):
            continue
        side = int(w["name"].split("/")[0].split("-")[1])
        sites = w["chains"] * side * side
        rates = [f"{name} {sites / predict(w, data, d, registers_of)[0] / 1e9:.3g}"
                 for name, d in devices.items()]
        parts.append(f"{side}×{side} " + ", ".join(rates))
    return text + "; ".join(parts) + ".\n" if parts else ""


def registers_from(binaries):
    """Returns a function (kernel, capability) → registers, bytes of static shared memory. 7.5
    stands in for a missing 7.0."""
    found = {}
    for binary in binaries:
        for architecture, kernels in static.resources(binary).items():
            for kernel, r in kernels.items():
                key = (kernel.split("<")[0], architecture)
                if key not in found or r.registers > found[key].registers:
                    found[key] = r

    def look(kernel, capability):
        r = found.get((kernel, capability)) or found.get((kernel, "7.5"))
        if r is None:
            static.die(f"{kernel} is in none of {', '.join(map(str, binaries))}")
        return r.registers, r.shared

    return look


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counters", type=Path)
    parser.add_argument("--binary", required=True, type=Path)
    parser.add_argument("--cubins", type=Path)
    parser.add_argument("--measured", nargs="*", default=[], type=Path)
    parser.add_argument("--revision", required=True)
    parser.add_argument("--page", required=True, type=Path)
    parser.add_argument("--predictions", required=True, type=Path)
    arguments = parser.parse_args()
    data = json.loads(arguments.counters.read_text(encoding="utf-8"))
    measured = [json.loads(file.read_text(encoding="utf-8")) for file in arguments.measured]
    cubins = sorted(arguments.cubins.glob("*.cubin")) if arguments.cubins else []
    if {w["name"] for w in data} - set(measure.listed()):
        static.die("steps.tsv lacks steps that are counted")
    registers_of = registers_from([arguments.binary, *cubins])
    seconds = {device: {w["name"]: predict(w, data, d, registers_of)[0] for w in data}
               for device, d in read_devices()[0].items()}
    arguments.page.write_text(page(data, measured, registers_of, arguments.revision),
                              encoding="utf-8")
    launches = {}
    for w in data:
        for x in w["capabilities"]["9.0"]["launches"]:
            launches.setdefault(x["kernel"], (x["threads"], x["shared_bytes"]))
    arguments.predictions.write_text(json.dumps({"seconds": seconds, "launches": launches},
                                                indent=1) + "\n",
                                     encoding="utf-8")


if __name__ == "__main__":
    main()
