"""Jobs started by PyTorch's own torchrun: one agent, two agents as on two machines, restarts."""
import multiprocessing
import os
import re
import signal
import time
import unittest
from pathlib import Path

import torch
import torch.distributed.run
from job import BINARY, Folder, Job, environment, free_port

ROOT = Path(__file__).resolve().parents[2]
# The extension of the Python package, which a build for sanitizers lacks.
PACKAGE = list((Path(BINARY).parent / "python/isinglass").glob("_isinglass*"))
SAMPLE = ("sample --instance ising-grid:side=6 --sampler pafs --adapt --chains 9 --burn-in 30 "
          "--steps 40 --device cpu --quiet")
TRAIN = ("train --model rbm --hidden 8 --dataset images.pt --sampler pafs --radius 3 "
         "--steps-per-iter 2 --buffer 40 --batch 12 --lr 0.001 --warmup 0 --iters 1000 "
         "--checkpoint-every 50 --device cpu --threads 1 --quiet")


class Agent(multiprocessing.get_context("fork").Process):
    """A process that runs torchrun's main(). It is forked from this process, which has imported
    PyTorch already, because the import takes longer than most of these jobs.
    """

    def __init__(self, folder, words):
        super().__init__()
        self.folder, self.words = folder, words
        self.start()

    def run(self):
        os.chdir(self.folder)
        for stream, end in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"torchrun-{time.monotonic_ns()}.{end}", os.O_WRONLY | os.O_CREAT),
                    stream)
        variables = environment(0, 1, 0)
        os.environ.clear()
        os.environ.update(variables)
        torch.distributed.run.main(self.words)

    def wait(self, seconds):
        """Returns the exit code, or None if the process runs longer."""
        self.join(seconds)
        return self.exitcode


def torchrun(folder, options, arguments, program=("--no-python", BINARY)):
    return Agent(folder, [*options.split(), *program, *arguments.split()])


def rank_of(agent, rank):
    """Returns the process of a rank among an agent's children, or None if there is none."""
    for child in Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split():
        variables = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        if f"RANK={rank}".encode() in variables:
            return int(child)
    return None


class Torchrun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = Folder()
        cls.shared = folder.__enter__()
        cls.addClassCleanup(folder.__exit__)

    def setUp(self):
        folder = Folder()
        self.folder = folder.__enter__()
        self.addCleanup(folder.__exit__)

    def said(self):
        return "".join(file.read_text() for file in self.folder.glob("*.err"))

    def draws(self, name):
        return (self.folder / name / "samples.pt").read_bytes()

    def test_one_and_two_agents(self):
        self.assertEqual(Job(f"{SAMPLE} --out one", 1, self.folder).wait(), [0])
        agent = torchrun(self.folder, "--standalone --nproc-per-node 3", f"{SAMPLE} --out agent")
        self.assertEqual(agent.wait(120), 0, self.said())
        self.assertEqual(self.draws("agent"), self.draws("one"))
        meeting = ("--nnodes 2 --nproc-per-node 2 --rdzv-backend c10d "
                   f"--rdzv-endpoint 127.0.0.1:{free_port()} --rdzv-id job")
        agents = [torchrun(self.folder, meeting, f"{SAMPLE} --out agents") for _ in range(2)]
        self.assertEqual([agent.wait(180) for agent in agents], [0, 0], self.said())
        self.assertEqual(self.draws("agents"), self.draws("one"))

    def train_unbroken(self):
        """Trains in the first test that needs it. Other ones get links to the result."""
        kept = self.shared / "unbroken"
        if not kept.exists():
            images = torch.rand(100, 16, generator=torch.Generator().manual_seed(1)) < 0.4
            torch.save(images.to(torch.uint8), self.shared / "images.pt")
            self.assertEqual(Job(f"{TRAIN} --out unbroken", 2, self.shared).wait(), [0, 0])
        for name in ("images.pt", "unbroken"):
            (self.folder / name).symlink_to(self.shared / name)

    def kill(self, agents, rank, checkpoint):
        """Kills a rank of the job of these agents as soon as the checkpoint is there."""
        while not (self.folder / "broken/checkpoints" / checkpoint).exists():
            for agent in agents:
                self.assertIsNone(agent.exitcode, self.said())
            time.sleep(0.02)
        [process] = filter(None, (rank_of(agent, rank) for agent in agents))
        os.kill(process, signal.SIGKILL)

    def ended_as_unbroken(self, agents, starts):
        self.assertEqual([agent.wait(180) for agent in agents], [0] * len(agents), self.said())
        self.assertEqual((self.folder / "broken/log.txt").read_text().count("resumed at iteration"),
                         starts)
        for name in ("weights.pt", "ema.pt"):
            self.assertEqual((self.folder / "broken" / name).read_bytes(),
                             (self.folder / "unbroken" / name).read_bytes())

    def test_a_killed_rank_starts_again_where_the_job_was_saved(self):
        self.train_unbroken()
        agents = [torchrun(self.folder, "--standalone --nproc-per-node 2 --max-restarts 3",
                           f"{TRAIN} --out broken")]
        self.kill(agents, 1, "00000100.pt")
        self.ended_as_unbroken(agents, 1)

    def test_two_agents_that_count_restarts_apart(self):
        self.train_unbroken()
        meeting = ("--nnodes 2 --nproc-per-node 1 --max-restarts 3 --rdzv-backend c10d "
                   f"--rdzv-endpoint 127.0.0.1:{free_port()} --rdzv-id job")
        agents = [torchrun(self.folder, meeting, f"{TRAIN} --out broken") for _ in range(2)]
        self.kill(agents, 1, "00000100.pt")
        self.kill(agents, 0, "00000500.pt")
        self.ended_as_unbroken(agents, 2)

    @unittest.skipUnless(PACKAGE, "the Python package is not part of this build")
    def test_the_python_script_of_the_guide(self):
        text = (ROOT / "docs/guide/many-gpus.md").read_text(encoding="utf-8")
        [script] = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        (self.folder / "script.py").write_text(script)
        printed = []
        for ranks in (1, 2):
            agent = torchrun(self.folder, f"--standalone --nproc-per-node {ranks}", "script.py",
                             program=())
            self.assertEqual(agent.wait(120), 0, self.said())
            out = max(self.folder.glob("torchrun-*.out"))
            printed.append(out.read_text())
        for text in printed:
            self.assertRegex(text, r"\n  chains +12\n")
            self.assertEqual(text.count("chains "), 1)  # printed by one rank only
        rates = re.compile(r".*per second.*")
        self.assertEqual(rates.sub("", printed[1]), rates.sub("", printed[0]))

    def test_a_killed_rank_ends_a_job_without_restarts(self):
        agent = torchrun(self.folder, "--standalone --nproc-per-node 2",
                         SAMPLE.replace("--steps 40", "--steps 100000000 --thin 10000") +
                         " --out out")
        while not (self.folder / "out/config.toml").exists():
            self.assertIsNone(agent.exitcode, self.said())
            time.sleep(0.02)
        os.kill(rank_of(agent, 1), signal.SIGKILL)
        start = time.monotonic()
        self.assertNotEqual(agent.wait(120), 0)
        self.assertLess(time.monotonic() - start, 60)


if __name__ == "__main__":
    unittest.main()
