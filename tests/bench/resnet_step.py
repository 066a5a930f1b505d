"""A whole step of ResNet-64 costs at most a tenth more than the model call inside it.

Usage: resnet_step.py BINARY [flags of isinglass bench]. Prints what `isinglass bench` measured, and
fails if the ratio of the medians of one run is above the limit.
"""
import json
import subprocess
import sys

LIMIT = 1.1
BENCH = ["bench", "--model", "resnet", "--channels", "64", "--sampler", "pafs", "--radius", "5",
         "--chains", "100", "--stages", "energy-gradient,step", "--quiet", "--json"]


def main():
    binary, *flags = sys.argv[1:]
    told = subprocess.run([binary, *BENCH, *flags], stdout=subprocess.PIPE, text=True, check=True)
    print(told.stdout)
    median = {stage["name"]: stage["milliseconds"]["median"]
              for stage in json.loads(told.stdout)["stages"]}
    ratio = median["step"] / median["energy-gradient"]
    print(f"a step costs {ratio:.3f} times one energy with its gradient; the limit is {LIMIT}")
    sys.exit(ratio > LIMIT)


if __name__ == "__main__":
    main()
