"""Checks that the archive of scripts/bundle.sh works where it is unpacked: it is small, complete,
and independent of the tree.

Usage: bundle_test.py SOURCE BUILD PYTHON (one with PyTorch). Exit code 77 (skipped) if the system
is too new to make an archive for the oldest machines.
"""
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

LARGEST = 60_000_000
SKIPPED = 77
DEBIAN_12 = (2, 36)  # its glibc
# Suites of every test program, quick ones that read the files and run the program that come along.
SUITES = {"io_tests": "PtRead*:PtPython*", "models_tests": "*Golden*", "kernels_tests": "Philox*",
          "engine_tests": "Adaptation*", "train_tests": "IdxFiles*:MatFiles.Reads*",
          "lab_tests": "Specs*", "cli_tests": "Usage*", "extending_tests": "Clock*"}


def run(command, python="python3", **variables):
    environment = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", **variables}
    if python:
        environment["ISINGLASS_PYTHON"] = str(python)
    return subprocess.run([str(word) for word in command], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def expect(condition, message):
    if not condition:
        sys.exit(message)


def make(source, build, folder):
    made = run([source / "scripts/bundle.sh", "--build", build, folder])
    # On a newer system the compiler's own library asks for it; here it would be our code.
    newer = tuple(map(int, platform.libc_ver()[1].split("."))) > DEBIAN_12
    if made.returncode and newer and "the oldest machine has" in made.stdout:
        print(f"skipped: {made.stdout}")
        sys.exit(SKIPPED)
    expect(made.returncode == 0, f"bundle.sh failed: {made.stdout}")
    [archive] = folder.glob("*.tar.gz")
    expect(archive.stat().st_size < LARGEST, f"{archive} is too large")
    with tarfile.open(archive) as content:
        content.extractall(folder)
    archive.unlink()
    [bundle] = folder.iterdir()
    return bundle


def fake_python(folder, version, cuda):
    """Makes a Python whose torch has this version and nothing else."""
    torch = folder / "site" / "torch"
    torch.mkdir(parents=True, exist_ok=True)
    (torch / "__init__.py").touch()
    (torch / "version.py").write_text(f"__version__ = {version!r}\ncuda = {cuda!r}\n")
    python = folder / "python"
    # -I takes no PYTHONPATH: the launcher's program is given the folder by a prefix.
    python.write_text(f"""#!/bin/sh
shift 2
exec "{sys.executable}" -I -S -c "import sys; sys.path.insert(0, '{folder}/site')
exec(sys.argv.pop(1))" "$@"
""")
    python.chmod(0o755)
    return python


def check_launcher(bundle, python, folder):
    program = bundle / "bin" / "isinglass"
    told = run([program, "--version"], python)
    expect(told.returncode == 0 and "isinglass" in told.stdout, f"the program: {told.stdout}")
    link = folder / "isinglass"
    link.symlink_to(program)
    expect(run([link, "--version"], python).returncode == 0, "a link to the program does not run")
    wrong = {"no such python": folder / "none"}
    expected = {"no such python": "there is no"}
    for name, version, cuda in (("older", "2.10.1+cu130", "13.0"), ("cpu", "2.11.0+cpu", None),
                                ("cuda", "2.11.0+cu128", "12.8")):
        wrong[name] = fake_python(folder / name, version, cuda)
        expected[name] = f"has torch {version}"
    for name, one in wrong.items():
        told = run([program, "--version"], one)
        expect(told.returncode and told.stdout.count("\n") == 1 and expected[name] in told.stdout,
               f"{name}: no clear sentence: {told.stdout}")


def check_away_from_tree(bundle, source):
    """Checks that no program contains the path where it was built, except the tests' default
    folder.
    """
    for file in [*bundle.glob("libexec/*"), *bundle.glob("lib/*")]:
        told = run(["readelf", "-d", file])
        expect(str(source) not in told.stdout, f"{file} looks for libraries in {source}")
    needs_hdf5 = [f.name for f in bundle.rglob("*") if re.search("netcdf|hdf5", f.name) and
                  f.name.endswith(".so")]
    expect(not needs_hdf5, f"in the archive: {needs_hdf5}")


def check_tests(bundle, python):
    """Checks that the tests pass, those of MATLAB files among them."""
    programs = {file.name for file in bundle.glob("bin/*_tests")}
    expect(programs == set(SUITES), f"test programs {programs}")
    for program, suites in SUITES.items():
        told = run([bundle / "bin" / program, "--gtest_brief=1", f"--gtest_filter={suites}"],
                   python)
        ran = re.search(r"(\d+) tests? from", told.stdout)
        expect(told.returncode == 0 and ran and int(ran[1]) > 0, f"{program}: {told.stdout}")


def check_gpu_check(bundle, python, folder):
    """Checks that the script says that there is no GPU, and fails."""
    has_gpu = run([python, "-c", "import torch; print(torch.cuda.is_available())"]).stdout.strip()
    if has_gpu == "True":
        return
    told = run([bundle / "scripts/gpu-check.sh", bundle, folder / "results"], python)
    expect(told.returncode and "no GPU" in told.stdout.splitlines()[-1],
           f"gpu-check: {told.stdout}")


def main():
    source, build, python = (Path(os.path.abspath(argument)) for argument in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        bundle = make(source, build, Path(folder, "made"))
        check_away_from_tree(bundle, source)
        Path(folder, "python").mkdir()
        check_launcher(bundle, python, Path(folder, "python"))
        check_tests(bundle, python)
        check_gpu_check(bundle, python, Path(folder))


if __name__ == "__main__":
    main()
