"""Ranks with one GPU each, connected by NCCL: the chains equal those of one GPU, and training
agrees within rounding. This needs two GPUs; the tests of refusals need one. Exit code 77 (skipped)
without any.
"""
import json
import sys
import unittest

import torch
from job import Folder, Job

SAMPLE = ("sample --instance ising-grid:side=20 --sampler pafs --adapt --chains 24 --burn-in 100 "
          "--steps 200 --quiet")
TRAIN = ("train --model rbm --hidden 8 --dataset images.pt --sampler pafs --radius 3 "
         "--steps-per-iter 5 --buffer 40 --batch 12 --lr 0.001 --warmup 0 --iters 20 --quiet")


@unittest.skipIf(torch.cuda.device_count() < 2, "two GPUs are needed")
class TwoGpus(unittest.TestCase):
    def test_two_are_one(self):
        with Folder() as folder:
            images = torch.rand(100, 16, generator=torch.Generator().manual_seed(1)) < 0.4
            torch.save(images.to(torch.uint8), folder / "images.pt")
            for size in (1, 2):
                for name, arguments in (("sample", SAMPLE), ("train", TRAIN)):
                    job = Job(f"{arguments} --out {name}-{size}", size, folder)
                    self.assertEqual(job.wait(), [0] * size, job.lines())
            one, two = (torch.load(folder / f"sample-{size}/samples.pt") for size in (1, 2))
            self.assertTrue(torch.equal(one["samples"], two["samples"]))
            summary = json.loads((folder / "sample-2/summary.json").read_text())
            self.assertEqual(summary["device"], "cuda:0")
            one, two = (torch.load(folder / f"train-{size}/weights.pt", map_location="cpu")
                        for size in (1, 2))
            for key in one:
                self.assertLess((one[key] - two[key]).abs().max().item(), 1e-4, key)

    def test_each_sees_its_own_alone(self):  # as with srun --gpus-per-task=1
        with Folder() as folder:
            job = Job(SAMPLE + " --out out", 2, folder, ranks=[0], CUDA_VISIBLE_DEVICES="0")
            job.ranks += Job(SAMPLE + " --out out", 2, folder, port=job.port, ranks=[1],
                             CUDA_VISIBLE_DEVICES="1").ranks
            self.assertEqual(job.wait(), [0, 0], job.lines())


class OneGpu(unittest.TestCase):
    def test_two_ranks_on_it(self):
        with Folder() as folder:
            job = Job(SAMPLE + " --out out", 2, folder, CUDA_VISIBLE_DEVICES="0")
            self.assertEqual(job.wait(), [2, 2], job.lines())
            self.assertEqual(len(job.lines()), 1, job.lines())
            self.assertIn("ranks 0 and 1 have the same GPU, but each rank needs its own",
                          job.lines()[0])

    def test_a_rank_without_a_gpu(self):
        with Folder() as folder:
            job = Job(SAMPLE + " --out out", 2, folder, ranks=[0])
            job.ranks += Job(SAMPLE + " --out out", 2, folder, port=job.port, ranks=[1],
                             CUDA_VISIBLE_DEVICES="").ranks
            self.assertEqual(job.wait(), [2, 2], job.lines())
            self.assertEqual(len(job.lines()), 1, job.lines())
            self.assertIn("1 of 2 ranks have a GPU, and rank 1 has none", job.lines()[0])


if __name__ == "__main__":
    if torch.cuda.device_count() == 0:
        print("skipped: there is no GPU")
        sys.exit(77)
    unittest.main()
