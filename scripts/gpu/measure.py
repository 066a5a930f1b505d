"""Measures the steps whose times are predicted (docs/results/gpu-predictions.md), on the present
device.

Usage: measure.py ISINGLASS OUT [--device DEVICE] [--name NAME] [--chains N] [--steps N]
           [--only STEP…]

Runs the commands of steps.tsv, prints each step's seconds next to the predicted ones (from
predictions.json, for the device whose name is part of NAME), and writes OUT: {"device": NAME,
"revision": …, "seconds": {step: seconds}}, which scripts/gpu-predict.sh puts on the page. The time
of a step of `bench` is the median of its rounds; that of a step of `sample` is the run's seconds
divided by its number of steps. --chains and --steps make the runs small, for a test.
"""
import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path


def listed():
    """Returns the steps of steps.tsv: {name: arguments}."""
    lines = Path(__file__).with_name("steps.tsv").read_text(encoding="utf-8").splitlines()
    return {name: shlex.split(command) for name, command in (line.split("\t") for line in lines)}


def changed(arguments, flag, value):
    if value is None or flag not in arguments:
        return arguments
    at = arguments.index(flag) + 1
    return [*arguments[:at], str(value), *arguments[at + 1:]]


def run(program, arguments, device):
    """Returns the seconds of a step; if it failed, prints the program's message to stderr and
    returns None."""
    with tempfile.TemporaryDirectory() as folder:
        sampling = arguments[0] == "sample"
        rest = ["--no-samples", "--thin", "10"] if sampling else []
        done = subprocess.run([program, *arguments, *rest, "--device", device, "--quiet", "--out",
                               folder, "--overwrite"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            print(f"isinglass: error: {' '.join(arguments)}: {done.stderr.strip()}",
                  file=sys.stderr)
            return None
        result = json.loads(
            Path(folder, "summary.json" if sampling else "bench.json").read_text(encoding="utf-8"))
    if sampling:
        return result["seconds"] / result["steps_done"]
    return result["stages"][0]["milliseconds"]["median"] / 1e3


def predicted(name):
    """Returns {step: seconds} for the device; an empty dictionary if there is no prediction."""
    file = Path(__file__).with_name("predictions.json")
    devices = json.loads(file.read_text(encoding="utf-8"))["seconds"] if file.exists() else {}
    return next((steps for device, steps in devices.items() if device in name), {})


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--name", help="of the device")
    parser.add_argument("--chains", type=int)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--only", nargs="*")
    arguments = parser.parse_args()
    device = arguments.name or arguments.device
    seconds, failed, expected = {}, [], predicted(device)
    print("step\tmeasured\tpredicted\tmeasured / predicted")
    for name, command in listed().items():
        if arguments.only and name not in arguments.only:
            continue
        command = changed(changed(command, "--chains", arguments.chains), "--steps",
                          arguments.steps)
        measured = run(arguments.program, command, arguments.device)
        if measured is None:
            failed.append(name)
            continue
        seconds[name] = measured
        beside = (f"{expected[name]:.3e} s\t{seconds[name] / expected[name]:.2f}"
                  if name in expected else "–\t–")
        print(f"{name}\t{seconds[name]:.3e} s\t{beside}", flush=True)
    version = subprocess.run([arguments.program, "--version"], capture_output=True, text=True,
                             check=True).stdout
    result = {"device": device, "revision": version.split("(")[-1].strip(" )\n"),
              "seconds": seconds}
    arguments.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if failed:
        sys.exit(f"isinglass: error: not measured: {', '.join(failed)}")


if __name__ == "__main__":
    main()
