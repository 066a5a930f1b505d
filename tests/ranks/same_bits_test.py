"""A job has the results of one process, bit for bit, on 1, 2 and 3 ranks, which are real processes
over loopback. With a deep model results agree within the rounding of its energies.

tests/engine/context_test.cpp compares all samplers in one process, with threads for ranks.
"""
import csv
import json
import shutil
import signal
import time
import unittest
from pathlib import Path

import torch
from job import Folder, Job

ISING = "--instance ising-grid:side=6,coupling=0.4 --chains 13 --seed 5"
CASES = {
    "adapted radius": f"sample {ISING} --sampler pafs --adapt --burn-in 60 --steps 40 --thin 2",
    "learned curvature": f"sample {ISING} --sampler ab-trace --burn-in 80 "
                         "--steps 20 --statistic sum",
    "learned balancing": f"sample {ISING} --sampler lsb-2 --burn-in 20 --steps 10",
    "rungs": f"sample {ISING} --sampler gibbs --scan chromatic --rungs auto "
             "--burn-in 64 --steps 20",
    "groups": "sample --instance misled-mixture --sampler fhl --group 4 --chains 12 "
              "--burn-in 20 --steps 20",
    "graph": "sample --model maxcut --weights graph.txt --sampler pafs --chains 8 --burn-in 50 "
             "--anneal 2,0.1 --steps 20",
    "tables": f"sample {ISING} --sampler lbj --adapt --burn-in 40 --steps 20 --netcdf",
}
RESNET = Path(__file__).resolve().parents[2] / "weights/static-mnist-resnet16.pt"
DEEP = (f"sample --model resnet --weights {RESNET} --sampler pafs --radius 5 --chains 7 "
        "--steps 12 --thin 3")
ROUNDING = 1e-5  # relative rounding of energies in another batch (docs/concepts/reproducibility.md)
ANNEALED = ("evaluate --model ising --weights ising.pt --dataset images.pt --sampler pafs "
            "--radius 3 --chains 11 --seed 2 --schedule adaptive --reverse")
TEMPERED = ("evaluate --model ising --weights ising.pt --dataset images.pt --sampler dlp --adapt "
            "--chains 7 --seed 2 --method tempering --rungs auto")
GRID = """
title = "a grid for ranks"
repeats = 3
[common]
chains = 4
burn-in = 20
steps = 60
[[models]]
instance = "ising-grid:side=5,coupling=0.3"
[[samplers]]
sampler = "gwg"
[[samplers]]
sampler = "pafs"
radius = [2, 3]
"""
DURATIONS = {"seconds", "steps_per_second", "threads"}
RATES = {"per_second", "per_second_all"}
SEARCH_TIMES = {"seconds", "seconds_per_chain", "mean_seconds", "time_to_solution",
                "time_to_solution_interval"}


def content(folder, name):
    """Returns the contents of files by name; for JSON only what does not depend on the clock."""
    files = {}
    for file in sorted((folder / name).rglob("*")):
        if file.suffix == ".json":
            value = json.loads(file.read_text())
            for key in DURATIONS:
                value.pop(key, None)
            for key in RATES:
                value.get("ess", {}).pop(key, None)
            for key in SEARCH_TIMES:
                value.get("annealing", {}).pop(key, None)
            files[file.name] = value
        elif file.is_file():
            files[file.name] = file.read_bytes()
    return files


class SameBits(unittest.TestCase):
    def compare(self, arguments, folder):
        for size in (1, 2, 3):
            job = Job(f"{arguments} --quiet --device cpu --threads 1 --out ranks-{size}", size,
                      folder)
            self.assertEqual(job.wait(), [0] * size, job.lines())
            self.assertEqual(job.lines(), [])
            for rank in job.ranks[1:]:
                self.assertEqual(rank.out.read_text(), "")
        whole = content(folder, "ranks-1")
        self.assertGreater(len(whole), 1)
        for size in (2, 3):
            self.assertEqual(content(folder, f"ranks-{size}"), whole)

    def test_sample(self):
        for name, arguments in CASES.items():
            with self.subTest(name), Folder() as folder:
                edges = [(i, (i + 1) % 9) for i in range(9)] + [(i, (i + 3) % 9) for i in range(9)]
                (folder / "graph.txt").write_text("".join(f"{u} {v}\n" for u, v in edges))
                self.compare(arguments, folder)

    def test_a_deep_model(self):
        """Draws agree except for a decision that falls within rounding, after which its chain
        differs.
        """
        with Folder() as folder:
            runs = []
            for size in (1, 2, 3):
                job = Job(f"{DEEP} --quiet --device cpu --threads 1 --out ranks-{size}", size,
                          folder)
                self.assertEqual(job.wait(), [0] * size, job.lines())
                runs.append(torch.load(folder / f"ranks-{size}/samples.pt"))
            whole = runs[0]
            # All chains have moved.
            self.assertTrue((whole["samples"][0] != whole["samples"][-1]).any(1).all())
            for run in runs[1:]:
                same = (run["samples"] == whole["samples"]).all(2).all(0)
                self.assertGreaterEqual(same.sum().item(), 6)
                torch.testing.assert_close(run["energy"][:, same], whole["energy"][:, same],
                                           rtol=ROUNDING, atol=0)

    def test_evaluate(self):
        with Folder() as folder:
            self.make_ising(folder)
            self.compare(ANNEALED + " --steps 200", folder)
            self.assertIn("log_weights_reverse", torch.load(folder / "ranks-1/chains.pt"))

    def test_evaluate_by_tempering(self):
        with Folder() as folder:
            self.make_ising(folder)
            self.compare(TEMPERED + " --steps 40", folder)
            self.assertEqual(json.loads((folder / "ranks-1/ais.json").read_text())["method"],
                             "tempering")

    def make_ising(self, folder):
        generator = torch.Generator().manual_seed(3)
        edges = torch.tensor([(i, (i + 1) % 16) for i in range(16)] +
                             [(i, (i + 4) % 16) for i in range(16)])
        torch.save({"edges": edges, "coupling": torch.rand(32, generator=generator) - 0.3,
                    "field": torch.rand(16, generator=generator) - 0.5}, folder / "ising.pt")
        torch.save((torch.rand(50, 16, generator=generator) < 0.4).to(torch.uint8),
                   folder / "images.pt")

    def test_evaluation_goes_on_by_other_ranks(self):
        for arguments, steps in ((ANNEALED, 3000), (TEMPERED, 12000)):
            with self.subTest(arguments), Folder() as folder:
                self.make_ising(folder)
                self.goes_on_by_other_ranks(f"{arguments} --steps {steps}", folder)

    def goes_on_by_other_ranks(self, arguments, folder):
        whole = f"{arguments} --device cpu --threads 1 --quiet --out whole"
        self.assertEqual(Job(whole, 1, folder).wait(), [0])
        checkpoint = folder / "ranks/ais-checkpoint.pt"
        for delay in (0, 0.25, 0.5, 1, 2):  # a run that stops before its first step saves nothing
            shutil.rmtree(folder / "ranks", ignore_errors=True)
            stopped = Job(whole.replace("whole", "ranks"), 3, folder)
            # Rank 0 writes this file after all ranks have met, each of which catches signals by
            # then.
            self.assertTrue(stopped.reaches((folder / "ranks/config.toml").exists), stopped.lines())
            time.sleep(delay)
            stopped.ranks[1].process.send_signal(signal.SIGTERM)
            self.assertEqual(stopped.wait(), [130] * 3, stopped.lines())
            if checkpoint.exists():
                break
        self.assertTrue(checkpoint.exists())
        goes_on = Job("evaluate --resume ranks --device cpu --threads 1 --quiet", 2, folder)
        self.assertEqual(goes_on.wait(), [0, 0], goes_on.lines())
        for name, tensor in torch.load(folder / "whole/chains.pt").items():
            self.assertTrue(torch.equal(tensor, torch.load(folder / "ranks/chains.pt")[name]), name)

    def test_ablate(self):
        with Folder() as folder:
            (folder / "grid.toml").write_text(GRID)
            tables = []
            for size in (1, 2, 3):
                job = Job("ablate --grid grid.toml --device cpu --threads 1 --quiet "
                          f"--out ranks-{size}", size, folder)
                self.assertEqual(job.wait(), [0] * size, job.lines())
                self.assertEqual(job.lines(), [])
                with (folder / f"ranks-{size}/results.csv").open() as file:
                    tables.append([{key: value for key, value in row.items() if "second" not in key}
                                   for row in csv.DictReader(file)])
            self.assertEqual(len(tables[0]), 9)
            self.assertEqual(tables[1], tables[0])
            self.assertEqual(tables[2], tables[0])

    def test_a_grid_goes_on_at_its_missing_cells(self):
        with Folder() as folder:
            (folder / "grid.toml").write_text(GRID.replace("steps = 60", "steps = 20000"))
            words = "--device cpu --threads 1 --quiet"
            job = Job(f"ablate --grid grid.toml {words} --out grid", 2, folder)
            cells = folder / "grid/cells"
            self.assertTrue(job.reaches(lambda: cells.exists() and
                                        len(list(cells.glob("*.json"))) >= 2), job.lines())
            job.ranks[1].process.send_signal(signal.SIGTERM)
            self.assertEqual(job.wait(), [130, 130], job.lines())
            self.assertEqual(len(job.lines()), 1, job.lines())
            self.assertRegex(job.lines()[0], "interrupted: [2-8] of 9 cells are finished; "
                                             "isinglass ablate --resume")
            kept = {file.name: file.stat().st_mtime_ns for file in cells.glob("*.json")}
            self.assertLess(len(kept), 9)
            job = Job(f"ablate --resume grid {words}", 3, folder)
            self.assertEqual(job.wait(), [0] * 3, job.lines())
            self.assertEqual(len(list(cells.glob("*.json"))), 9)
            for name, time in kept.items():
                self.assertEqual((cells / name).stat().st_mtime_ns, time)
            self.assertEqual(json.loads((folder / "grid/results.json").read_text())["failed"], 0)


if __name__ == "__main__":
    unittest.main()
