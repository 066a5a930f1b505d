"""The program: `isinglass`, or `python -m isinglass`."""
import os
import sys


def main():
    program = os.path.join(os.path.dirname(__file__), "bin", "isinglass")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
