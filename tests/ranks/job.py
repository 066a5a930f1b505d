"""Jobs of several processes of the real program, or of Python, on this machine, connected over
loopback.
"""
import os
import resource
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

BINARY = os.environ["ISINGLASS_BINARY"]
LIMIT = 120  # seconds within which any job here ends


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(rank, size, port):
    variables = {name: value for name, value in os.environ.items()
                 if not name.startswith(("RANK", "WORLD_", "LOCAL_", "MASTER_", "SLURM_", "OMPI_",
                                         "TORCHELASTIC_"))}
    if size > 1:
        variables.update(RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank),
                         LOCAL_WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    return variables


def limit_files(size):
    """Simulates a full disk for a process, after so many bytes of a file."""
    return size and (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))


class Rank:
    """A process of a job; its output goes to files, so that it never waits for a reader."""

    def __init__(self, command, folder, variables, name, largest_file=None):
        self.out, self.err = folder / f"{name}.out", folder / f"{name}.err"
        with self.out.open("w") as out, self.err.open("w") as err:
            self.process = subprocess.Popen(command, cwd=folder, env=variables, stdout=out,
                                            stderr=err, preexec_fn=limit_files(largest_file))

    def wait(self, seconds=LIMIT):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "hung"

    def said(self):
        return self.err.read_text()


class Job:
    """Runs `size` ranks of a program with the same arguments, in a folder of their own."""

    def __init__(self, arguments, size, folder, port=None, ranks=None, largest_file=None,
                 program=(BINARY,), **variables):
        self.folder = Path(folder)
        self.port = port = port or free_port()
        self.ranks = [Rank([*program, *arguments.split()], self.folder,
                           environment(rank, size, port) | variables,
                           f"{size}-{rank}-{port}-{time.monotonic_ns()}", largest_file)
                      for rank in (range(size) if ranks is None else ranks)]

    def wait(self, seconds=LIMIT):
        """Returns the ranks' exit codes; "hung" for a rank that did not end."""
        end = time.monotonic() + seconds
        return [rank.wait(max(0.1, end - time.monotonic())) for rank in self.ranks]

    def lines(self):
        """Returns the lines of all ranks on stderr."""
        return [line for rank in self.ranks for line in rank.said().splitlines()]

    def reaches(self, condition):
        """Waits until the condition holds; False if a rank has ended before."""
        while not condition():
            if any(rank.process.poll() is not None for rank in self.ranks):
                return False
            time.sleep(0.02)
        return True


class Folder:
    """An empty directory, as a context."""

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(prefix="isinglass-ranks-"))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path)
