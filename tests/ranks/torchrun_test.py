"""Jobs that PyTorch's own torchrun starts: one agent, two agents as two machines would have, restarts."""
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import torch
from job import BINARY, Folder, Job, environment, free_port

SAMPLE = "sample --instance ising-grid:side=6 --sampler pafs --adapt --chains 9 --burn-in 30 --steps 40 --device cpu --quiet"
TRAIN = ("train --model rbm --hidden 8 --dataset images.pt --sampler pafs --radius 3 --steps-per-iter 2 --buffer 40 "
         "--batch 12 --lr 0.001 --warmup 0 --iters 3000 --checkpoint-every 100 --device cpu --threads 1 --quiet")


def torchrun(folder, options, arguments):
    words = [sys.executable, "-m", "torch.distributed.run", *options.split(), "--no-python", BINARY, *arguments.split()]
    with (folder / f"torchrun-{time.monotonic_ns()}.err").open("w") as error:
        return subprocess.Popen(words, cwd=folder, env=environment(0, 1, 0), stdout=subprocess.DEVNULL,
                            stderr=error)


def rank_of(agent, rank):
    """The process of a rank among an agent's children; None if there is none."""
    for child in Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split():
        variables = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        if f"RANK={rank}".encode() in variables:
            return int(child)
    return None


class Torchrun(unittest.TestCase):
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
        meeting = f"--nnodes 2 --nproc-per-node 2 --rdzv-backend c10d --rdzv-endpoint 127.0.0.1:{free_port()} --rdzv-id job"
        agents = [torchrun(self.folder, meeting, f"{SAMPLE} --out agents") for _ in range(2)]
        self.assertEqual([agent.wait(180) for agent in agents], [0, 0], self.said())
        self.assertEqual(self.draws("agents"), self.draws("one"))

    def test_a_killed_rank_starts_again_where_the_job_was_saved(self):
        torch.save((torch.rand(100, 16, generator=torch.Generator().manual_seed(1)) < 0.4).to(torch.uint8),
                   self.folder / "images.pt")
        self.assertEqual(Job(f"{TRAIN} --out unbroken", 2, self.folder).wait(), [0, 0])
        agent = torchrun(self.folder, "--standalone --nproc-per-node 2 --max-restarts 3", f"{TRAIN} --out broken")
        checkpoint = self.folder / "broken/checkpoints/00000200.pt"
        while not checkpoint.exists():
            self.assertIsNone(agent.poll(), self.said())
            time.sleep(0.02)
        os.kill(rank_of(agent, 1), signal.SIGKILL)
        self.assertEqual(agent.wait(180), 0, self.said())
        self.assertIn("resumed at iteration", (self.folder / "broken/log.txt").read_text())
        for name in ("weights.pt", "ema.pt"):
            self.assertEqual((self.folder / "broken" / name).read_bytes(), (self.folder / "unbroken" / name).read_bytes())

    def test_a_killed_rank_ends_a_job_without_restarts(self):
        agent = torchrun(self.folder, "--standalone --nproc-per-node 2",
                         SAMPLE.replace("--steps 40", "--steps 100000000 --thin 10000") + " --out out")
        while not (self.folder / "out/config.toml").exists():
            self.assertIsNone(agent.poll(), self.said())
            time.sleep(0.02)
        os.kill(rank_of(agent, 1), signal.SIGKILL)
        start = time.monotonic()
        self.assertNotEqual(agent.wait(120), 0)
        self.assertLess(time.monotonic() - start, 60)


if __name__ == "__main__":
    unittest.main()
