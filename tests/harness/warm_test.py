"""Checks that a program forked from a loaded one (tests/support/warm) behaves like the program
itself.

Usage: warm_test.py PROGRAM WARM
"""
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM, WARM = sys.argv[1:3]
SAMPLE = ["sample", "--instance", "ising-grid:side=4", "--sampler", "gwg", "--quiet", "--out",
          "out"]
ENDLESS = [*SAMPLE, "--steps", "100000000", "--thin", "1000000"]


def command(program, *arguments, folder, **variables):
    return subprocess.Popen([program, *arguments], cwd=folder, env=dict(os.environ, **variables),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


class Warm(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.folder = Path(folder.name)
        self.addCleanup(folder.cleanup)

    def same(self, *arguments, **variables):
        """Checks that both give the same output and exit code, and returns them."""
        ends = []
        for program in (PROGRAM, WARM):
            process = command(program, *arguments, folder=self.folder, **variables)
            ends.append((*process.communicate(timeout=60), process.returncode))
        self.assertEqual(*ends)
        return ends[0]

    def begun(self, program):
        process = command(program, *ENDLESS, folder=self.folder)
        while not (self.folder / "out/config.toml").exists():
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        return process

    def test_streams_and_exit_codes(self):
        said, _, code = self.same("--version")
        self.assertIn("isinglass", said)
        self.assertEqual(code, 0)
        _, complaint, code = self.same("sample", "--no-such-flag", "1")
        self.assertIn("--no-such-flag", complaint)
        self.assertEqual(code, 2)

    def test_arguments_environment_and_directory(self):
        _, complaint, _ = self.same("train", "--model", "rbm", "--dataset", "no such", "--out",
                                    "out")
        self.assertIn("no such", complaint)
        for place in ("here", "there"):  # each call has its own
            _, complaint, _ = self.same("train", "--model", "rbm", "--dataset", "mnist", "--out",
                                        "out", ISINGLASS_DATA=place)
            self.assertIn(place, complaint)

    def test_a_signal_arrives(self):
        for program in (PROGRAM, WARM):
            process = self.begun(program)
            process.send_signal(signal.SIGTERM)
            _, complaint = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130)
            self.assertIn("interrupted", complaint)
            for file in (self.folder / "out").iterdir():
                file.unlink()

    def test_what_is_killed_is_gone(self):
        process = self.begun(WARM)
        process.kill()
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGKILL)
        end = time.monotonic() + 30
        while True:  # the directory is locked as long as the process lives
            again = command(WARM, *SAMPLE, "--steps", "10", "--overwrite", folder=self.folder)
            _, complaint = again.communicate(timeout=60)
            if again.returncode == 0 or time.monotonic() > end:
                break
        self.assertEqual(again.returncode, 0, complaint)

    def test_a_limit_is_kept(self):
        for out, program in (("real", PROGRAM), ("warm", WARM)):
            process = subprocess.run([program, *SAMPLE[:-1], out, "--steps", "10000"],
                                     cwd=self.folder, capture_output=True, preexec_fn=limit_files,
                                     text=True, check=False)
            self.assertIn("cannot write", process.stderr)
            self.assertEqual(process.returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
