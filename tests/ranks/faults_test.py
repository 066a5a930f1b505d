"""A failure of one rank ends the whole job soon, and one line says what it was."""
import shutil
import signal
import socket
import time
import unittest

import torch
from job import BINARY, Folder, Job, Rank, environment, free_port

LONG = ("sample --instance ising-grid:side=8 --sampler pafs --chains 12 --steps 100000000 "
        "--thin 10000 --device cpu --threads 1 --quiet --out out")
TRAIN = ("train --model rbm --hidden 8 --dataset images.pt --sampler pafs --radius 3 "
         "--steps-per-iter 2 --buffer 40 --batch 12 --iters 100000000 --checkpoint-every 1000000 "
         "--device cpu --threads 1 --quiet --out")
SHORT = ("sample --instance ising-grid:side=8 --sampler pafs --chains 12 --steps 50 --device cpu "
         "--threads 1 --quiet --out out")
SOON = 20  # seconds; the program promises 10 where the machine is not busy


class Faults(unittest.TestCase):
    def setUp(self):
        folder = Folder()
        self.folder = folder.__enter__()
        self.addCleanup(folder.__exit__)

    def begun(self, job):
        """Returns a job that is running."""
        self.assertTrue(job.reaches((job.folder / "out/config.toml").exists), job.lines())
        time.sleep(0.5)
        return job

    def ends(self, job, codes, line, count=1):
        """Checks that all ranks end soon, with these exit codes, and print that one line."""
        start = time.monotonic()
        self.assertEqual(job.wait(60), codes, job.lines())
        self.assertLess(time.monotonic() - start, SOON)
        lines = job.lines()
        self.assertEqual(len(lines), count, lines)
        self.assertIn(line, lines[0])

    def test_a_signal_to_one_rank_stops_all(self):
        for size, rank in ((2, 0), (3, 2)):
            job = self.begun(Job(LONG + " --overwrite", size, self.folder))
            job.ranks[rank].process.send_signal(signal.SIGTERM)
            self.ends(job, [130] * size, "isinglass: interrupted: ")
            self.assertTrue((self.folder / "out/samples.pt").exists())
            shutil.rmtree(self.folder / "out")

    def test_a_signal_to_one_rank_saves_the_training_of_all(self):
        images = torch.rand(100, 16, generator=torch.Generator().manual_seed(1)) < 0.4
        torch.save(images.to(torch.uint8), self.folder / "images.pt")
        for size, rank in ((2, 1), (3, 0)):
            out = self.folder / f"out-{size}"
            job = Job(f"{TRAIN} {out}", size, self.folder)
            self.assertTrue(job.reaches((out / "metrics.jsonl").exists), job.lines())
            time.sleep(0.5)
            job.ranks[rank].process.send_signal(signal.SIGTERM)
            self.ends(job, [130] * size,
                      "isinglass: interrupted: the run was saved after iteration ")
            done = len((out / "metrics.jsonl").read_text().splitlines())
            self.assertGreater(done, 0)
            self.assertTrue((out / f"checkpoints/{done:08}.pt").exists())
            self.assertIn(f" {done}; isinglass train --resume", job.lines()[0])

    def test_a_killed_rank_ends_all(self):
        job = self.begun(Job(LONG, 3, self.folder))
        job.ranks[1].process.kill()
        self.ends(job, [1, -signal.SIGKILL, 1],
                  "isinglass: rank 1: error: it ended without a message")
        self.assertFalse((self.folder / "out").exists())  # no draw was kept

    def test_a_frozen_rank_ends_all(self):
        jobs, starts = [], []
        for frozen in range(3):  # the jobs run side by side, because they mostly wait
            folder = self.folder / str(frozen)
            folder.mkdir()
            jobs.append(self.begun(Job(LONG, 3, folder)))
            jobs[-1].ranks[frozen].process.send_signal(signal.SIGSTOP)
            starts.append(time.monotonic())
        for frozen, (job, start) in enumerate(zip(jobs, starts)):
            with self.subTest(frozen):
                others = [rank for number, rank in enumerate(job.ranks) if number != frozen]
                self.assertEqual([rank.wait(60) for rank in others], [1, 1], job.lines())
                self.assertLess(time.monotonic() - start, SOON)
                [line] = job.lines()
                self.assertIn(f"isinglass: rank {frozen}: error: it ended without a message", line)
                job.ranks[frozen].process.send_signal(signal.SIGCONT)
                self.assertEqual(job.ranks[frozen].wait(60), 1)
                # Rank 0 has removed the directory, which holds no draw.
                self.assertFalse((job.folder / "out").exists())

    def test_a_killed_rank_0_ends_all(self):
        job = self.begun(Job(LONG, 3, self.folder))
        job.ranks[0].process.kill()
        self.ends(job, [-signal.SIGKILL, 1, 1],
                  "isinglass: rank 0: error: it ended without a message")

    def test_a_rank_that_fails_ends_all(self):
        elsewhere, port = self.folder / "elsewhere", free_port()
        elsewhere.mkdir()
        (self.folder / "states.txt").write_text("")
        arguments = LONG.replace("--chains 12", "--init data --dataset d.amat")
        (self.folder / "d.amat").write_text("".join("0 1 " * 32 + "\n" for _ in range(20)))
        job = Job(arguments, 3, self.folder, port, ranks=[0, 1])
        job.ranks.append(Rank([BINARY, *arguments.split()], elsewhere, environment(2, 3, port),
                              "2"))
        self.ends(job, [2, 2, 2], "isinglass: rank 2: error: ")
        self.assertIn("d.amat", job.lines()[0])

    def test_an_error_of_all_is_one_line(self):
        job = Job(SHORT.replace("--chains 12", "--chains 2"), 3, self.folder)
        self.ends(job, [2, 2, 2], "error: --chains is 2; 3 ranks need at least one chain each")
        self.assertFalse((self.folder / "out").exists())
        job = Job(SHORT.replace("--chains", "--chain"), 2, self.folder)
        self.ends(job, [2, 2], "rank 0: error: ")

    def test_a_rank_that_does_not_come(self):
        first = Job(SHORT, 3, self.folder, ranks=[0, 2], ISINGLASS_START_TIMEOUT="3")
        second = Job(SHORT, 2, self.folder, ranks=[1], ISINGLASS_START_TIMEOUT="3")
        self.ends(first, [2, 2], "2 of 3 ranks have started within 3 s; missing: 1")
        self.ends(second, [2], "rank 0 has not started within 3 s")

    def test_a_full_disk(self):
        job = Job(SHORT, 2, self.folder, largest_file=20000)
        self.ends(job, [2, 2], "isinglass: rank 0: error: cannot write")
        self.assertFalse((self.folder / "out/samples.pt").exists())

    def test_a_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            first, second = (Job(SHORT, 2, self.folder, port, ranks=[rank],
                                 ISINGLASS_START_TIMEOUT="3") for rank in range(2))
            self.ends(first, [2], f"port {port} of 127.0.0.1, at which the ranks meet, is in use")
            self.ends(second, [2],
                      "isinglass: rank 1: error: the program that listens at 127.0.0.1:")

    def test_no_meeting_place(self):
        variables = environment(0, 1, 0) | {"WORLD_SIZE": "2", "RANK": "0"}
        for missing, said in ((("MASTER_ADDR", "MASTER_PORT"),
                               "MASTER_ADDR and MASTER_PORT are not set"),
                              (("MASTER_PORT",), "MASTER_PORT is not set")):
            given = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
            rank = Rank([BINARY, *SHORT.split()], self.folder,
                        variables | {k: v for k, v in given.items() if k not in missing}, "0")
            self.assertEqual(rank.wait(), 2)
            self.assertIn(said, rank.said())
            self.assertEqual(rank.said().count("\n"), 1)

    def test_two_jobs_in_one_directory(self):
        first = self.begun(Job(LONG, 2, self.folder))
        for more, said in (
            ("", "already holds a run"),
            (" --overwrite", "another process is writing a run to"),
        ):
            second = Job(SHORT + more, 2, self.folder)
            self.ends(second, [2, 2], said)
        first.ranks[1].process.send_signal(signal.SIGINT)
        self.ends(first, [130, 130], "isinglass: interrupted: ")
        self.assertTrue((self.folder / "out/samples.pt").exists())

    def test_ranks_that_were_started_otherwise(self):
        port = free_port()
        job = Job(SHORT, 2, self.folder, port, ranks=[0])
        job.ranks += Job(SHORT + " --seed 3", 2, self.folder, port, ranks=[1]).ranks
        self.ends(job, [2, 2], "was started with another command line")

    def test_commands_of_one_process(self):
        said = "isinglass report requires a single process, but there are 2 ranks"
        self.ends(Job("report out", 2, self.folder), [2, 2], said)


if __name__ == "__main__":
    unittest.main()
