"""Times a whole step of ResNet-64 and the model call inside it. With --limit 1.1 the step may cost
at most a tenth more than the call.

Usage: resnet_step.py BINARY [--limit RATIO] [flags of isinglass bench]. Prints the measurements of
`isinglass bench`, and fails if a stage is missing or if the ratio of the medians of one run is
above the limit.
"""
import argparse
import json
import math
import subprocess
import sys

STAGES = ["energy-gradient", "step"]
BENCH = ["bench", "--model", "resnet", "--channels", "64", "--sampler", "pafs", "--radius", "5",
         "--stages", ",".join(STAGES), "--quiet", "--json"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--limit", type=float, default=math.inf)
    given, flags = parser.parse_known_args()
    told = subprocess.run([given.binary, *BENCH, *flags], stdout=subprocess.PIPE, text=True,
                          check=True)
    print(told.stdout)
    median = {stage["name"]: stage["milliseconds"]["median"]
              for stage in json.loads(told.stdout)["stages"]}
    if sorted(median) != STAGES or not all(0 < m < math.inf for m in median.values()):
        sys.exit(f"the stages measured are {median}")
    ratio = median["step"] / median["energy-gradient"]
    print(f"a step costs {ratio:.3f} times one energy with its gradient; the limit "
          f"is {given.limit}")
    sys.exit(ratio > given.limit)


if __name__ == "__main__":
    main()
