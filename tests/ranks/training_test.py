"""Training on ranks: the parameters agree with those of one process within rounding, and a run can
change its number of ranks.
"""
import json
import unittest

import torch
from job import Folder, Job

PCD = ("--model rbm --hidden 8 --sampler pafs --radius 3 --steps-per-iter 5 --buffer 40 "
       "--reinit 0.1 --clip 1")
OBJECTIVES = {
    "pcd": PCD,
    "centred": f"{PCD} --centre",
    "adapted": f"{PCD} --adapt",
    "lag": f"{PCD} --lr-control lag".replace("--reinit 0.1", ""),
    "network": PCD.replace("--model rbm --hidden 8", "--model mlp"),
    "cd": "--objective cd --hidden 8",
    "nce": "--objective nce --network mlp --base-model rbm=rbm.pt --base-log-z 12 "
           "--base-log-z-error 0.1 --bound 8 --evaluate-every 10",
    "dsm": "--objective dsm",
}
SCORED = f"{PCD} --evaluate-every 8 --evaluate-steps 20"
# Sums over a batch of 12 in float32 are rounded otherwise in parts. Adam's steps of 0.001 do not
# depend on the size of a gradient, so that single parameters whose gradient is rounding itself go
# apart: over sixteen runs of score matching (eight seeds, two revisions of the program) by 3e-7 to
# 3.4e-5 at most, and by 3e-9 to 9.3e-8 in the root mean square. Ranks that shared rows wrongly
# would move most parameters by steps of 0.001.
ROUNDING, ROUNDING_RMS = 1e-4, 1e-6


def command(arguments, out):
    return (f"train {arguments} --dataset images.pt --batch 12 --lr 0.001 --warmup 0 --seed 4 "
            f"--checkpoint-every 10 --device cpu --threads 1 --quiet --out {out}")


def metrics(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


class Training(unittest.TestCase):
    def setUp(self):
        folder = Folder()
        self.folder = folder.__enter__()
        self.addCleanup(folder.__exit__)
        generator = torch.Generator().manual_seed(1)
        means = torch.rand(16, generator=generator)
        torch.save((torch.rand(200, 16, generator=generator) < means).to(torch.uint8),
                   self.folder / "images.pt")
        torch.save({"W": torch.randn(8, 16, generator=generator) / 4,
                    "b_v": torch.logit(means.clamp(0.05, 0.95)), "b_h": torch.zeros(8)},
                   self.folder / "rbm.pt")

    def train(self, arguments, size):
        job = Job(arguments, size, self.folder)
        self.assertEqual(job.wait(), [0] * size, job.lines())
        self.assertEqual(job.lines(), [])

    def close(self, one, other):
        """Checks that parameters and metrics of two runs agree within rounding, and returns those
        of the first.
        """
        for name in ("weights.pt", "ema.pt"):
            first, second = (torch.load(self.folder / run / name) for run in (one, other))
            self.assertEqual(list(first), list(second))
            apart = torch.cat([(first[key] - second[key]).flatten() for key in first])
            self.assertLess(apart.abs().max().item(), ROUNDING, name)
            self.assertLess(apart.square().mean().sqrt().item(), ROUNDING_RMS, name)
        for a, b in zip(metrics(self.folder / one), metrics(self.folder / other), strict=True):
            self.assertEqual(list(a), list(b))
            for key in ("loss", "log_z_ratio", "energy_data", "energy_model", "acceptance",
                        "step_size", "lag_share", "rate_factor", "gradient_norm",
                        "validation_score"):
                if key in a:
                    self.assertAlmostEqual(a[key], b[key], delta=1e-3 * (1 + abs(a[key])), msg=key)
        return torch.load(self.folder / one / "weights.pt")

    def test_two_ranks_are_one_within_rounding(self):
        for name, arguments in OBJECTIVES.items():
            with self.subTest(name):
                for size in (1, 2):
                    self.train(command(f"{arguments} --iters 20", f"{name}-{size}"), size)
                self.close(f"{name}-1", f"{name}-2")

    def test_another_number_of_ranks_goes_on(self):
        self.train(command(f"{SCORED} --iters 30", "whole"), 1)
        self.train(command(f"{SCORED} --iters 10", "parts"), 2)
        for size, iterations in ((1, 20), (3, 30)):
            self.train(f"train --resume parts --iters {iterations} --quiet", size)
        self.close("whole", "parts")
        self.assertEqual(len(metrics(self.folder / "parts")), 30)
        scores = [line["validation_score"]
                  for line in metrics(self.folder / "parts") if "validation_score" in line]
        self.assertEqual(len(scores), 3)

    def test_a_job_repeats_itself(self):
        for out in ("one", "other"):
            self.train(command(f"{PCD} --iters 20", out), 3)
        self.assertEqual((self.folder / "one/weights.pt").read_bytes(),
                         (self.folder / "other/weights.pt").read_bytes())


if __name__ == "__main__":
    unittest.main()
