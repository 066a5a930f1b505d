"""Measures the steps whose times are predicted (docs/results/gpu-predictions.md), on the device at hand.

Usage: measure.py ISINGLASS OUT [--device DEVICE] [--name NAME] [--chains N] [--steps N] [--only STEP…]

Runs the commands of steps.tsv, prints each step's seconds beside the predicted ones (predictions.json, of the device
whose name is in NAME), and writes OUT: {"device": NAME, "revision": …, "seconds": {step: seconds}}, which
scripts/gpu-predict.sh puts on the page. A step of `bench` has the median of its rounds, one of `sample`
the run's seconds over its steps. --chains and --steps make it small, for a test.
"""
import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path


def listed():
    """{name: arguments}"""
    lines = Path(__file__).with_name("steps.tsv").read_text(encoding="utf-8").splitlines()
    return {name: shlex.split(command) for name, command in (line.split("\t") for line in lines)}


def changed(arguments, flag, value):
    if value is None or flag not in arguments:
        return arguments
    at = arguments.index(flag) + 1
    return [*arguments[:at], str(value), *arguments[at + 1:]]


def run(program, arguments, device):
    """Seconds of a step; None, with the program's message on stderr, where it failed."""
    with tempfile.TemporaryDirectory() as folder:
        sampling = arguments[0] == "sample"
        rest = ["--no-samples", "--thin", "10"] if sampling else []
        done = subprocess.run([program, *arguments, *rest, "--device", device, "--quiet", "--out", folder, "--overwrite"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            print(f"isinglass: error: {' '.join(arguments)}: {done.stderr.strip()}", file=sys.stderr)
            return None
        result = json.loads(Path(folder, "summary.json" if sampling else "bench.json").read_text(encoding="utf-8"))
    if sampling:
        return result["seconds"] / result["steps_done"]
    return result["stages"][0]["milliseconds"]["median"] / 1e3


def predicted(name):
    """{step: seconds} of the device, or nothing where there is no prediction."""
    file = Path(__file__).with_name("predictions.json")
    devices = json.loads(file.read_text(encoding="utf-8"))["seconds"] if file.exists() else {}
    return next((steps for device, steps in devices.items() if device in name), {})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
        command = changed(changed(command, "--chains", arguments.chains), "--steps", arguments.steps)
        measured = run(arguments.program, command, arguments.device)
        if measured is None:
            failed.append(name)
            continue
        seconds[name] = measured
        beside = f"{expected[name]:.3e} s\t{seconds[name] / expected[name]:.2f}" if name in expected else "–\t–"
        print(f"{name}\t{seconds[name]:.3e} s\t{beside}", flush=True)
    version = subprocess.run([arguments.program, "--version"], capture_output=True, text=True, check=True).stdout
    result = {"device": device, "revision": version.split("(")[-1].strip(" )\n"), "seconds": seconds}
    arguments.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if failed:
        sys.exit(f"isinglass: error: not measured: {', '.join(failed)}")


if __name__ == "__main__":
    main()
