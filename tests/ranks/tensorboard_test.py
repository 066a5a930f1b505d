"""The events that --tensorboard writes, read by TensorBoard itself."""
import json
import unittest

import torch
from job import Folder, Job
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

WORDS = "--device cpu --threads 1 --quiet"


def events(folder, files=1):
    """Returns everything that TensorBoard reads from a folder."""
    assert len(list(folder.iterdir())) == files
    read = EventAccumulator(str(folder), size_guidance={"scalars": 0, "histograms": 0, "images": 0})
    read.Reload()
    return read


class Board(unittest.TestCase):
    def setUp(self):
        folder = Folder()
        self.folder = folder.__enter__()
        self.addCleanup(folder.__exit__)

    def run_job(self, arguments, size=1, code=0):
        job = Job(f"{arguments} {WORDS}", size, self.folder)
        self.assertEqual(job.wait(), [code] * size, job.lines())

    def images(self):
        generator = torch.Generator().manual_seed(1)
        torch.save((torch.rand(100, 16, generator=generator) < 0.4).to(torch.uint8),
                   self.folder / "images.pt")

    def test_sample(self):
        for size in (1, 2):
            self.run_job("sample --instance ising-grid:side=28 --sampler pafs --adapt --chains 10 "
                         f"--burn-in 20 --steps 40 --thin 4 --out out-{size} "
                         f"--tensorboard board-{size}", size)
            read = events(self.folder / f"board-{size}")
            energy = torch.load(self.folder / f"out-{size}/samples.pt")["energy"].double()
            means = read.Scalars("energy/mean")
            self.assertEqual([event.step for event in means], list(range(4, 41, 4)))
            for event, of in zip(means, energy, strict=True):
                self.assertAlmostEqual(event.value, of.mean().item(), delta=1e-3)
            histogram = read.Histograms("energy/chains")[-1].histogram_value
            self.assertEqual(histogram.num, 10)
            self.assertEqual(sum(histogram.bucket), 10)
            self.assertAlmostEqual(histogram.max, energy[-1].max().item(), delta=1e-3)
            self.assertEqual(histogram.bucket_limit[-1], histogram.max)
            self.assertAlmostEqual(histogram.sum, energy[-1].sum().item(), delta=1e-2)
            summary = json.loads((self.folder / f"out-{size}/summary.json").read_text())
            [acceptance] = read.Scalars("acceptance")
            self.assertAlmostEqual(acceptance.value, summary["acceptance"], delta=1e-6)
            [picture] = read.Images("states")
            self.assertEqual(picture.encoded_image_string[:8], b"\x89PNG\r\n\x1a\n")
            self.assertEqual(picture.width, (28 + 1) * 10 + 1)
        self.assertFalse((self.folder / "out-1/board-1").exists())

    def test_train(self):
        self.images()
        self.run_job("train --model rbm --hidden 4 --dataset images.pt --sampler pafs --radius 3 "
                     "--steps-per-iter 2 --buffer 100 --batch 10 --iters 12 --checkpoint-every 5 "
                     "--out out --tensorboard board", 2)
        read = events(self.folder / "board")
        lines = [json.loads(line)
                 for line in (self.folder / "out/metrics.jsonl").read_text().splitlines()]
        for name in ("energy_data", "difference", "acceptance", "gradient_norm"):
            self.assertEqual([event.step for event in read.Scalars(name)], list(range(1, 13)))
            for event, line in zip(read.Scalars(name), lines, strict=True):
                self.assertAlmostEqual(event.value, line[name], delta=1e-5 * (1 + abs(line[name])))
        for name, mean in (("data", "energy_data"), ("chains", "energy_model")):
            histograms = read.Histograms(f"energy/{name}")
            self.assertEqual([event.step for event in histograms], [5, 10, 12])
            for event in histograms:
                self.assertEqual(event.histogram_value.num, 10)
                self.assertAlmostEqual(event.histogram_value.sum / 10, lines[event.step - 1][mean],
                                       delta=1e-5)
        last = read.Images("samples")[-1]
        self.assertEqual(last.step, 12)
        self.assertEqual(last.encoded_image_string,
                         (self.folder / "out/samples/00000012.png").read_bytes())

    def test_a_run_that_goes_on(self):
        self.images()
        words = "--iters {} --tensorboard board"
        self.run_job("train --model rbm --hidden 4 --dataset images.pt --sampler pafs --radius 3 "
                     "--steps-per-iter 2 --buffer 100 --batch 10 --checkpoint-every 5 --out out "
                     f"{words.format(12)}")
        # The run looks as if it had been killed before that checkpoint.
        (self.folder / "out/checkpoints/00000012.pt").unlink()
        self.run_job(f"train --resume out {words.format(14)}")
        read = events(self.folder / "board", files=2)
        self.assertEqual([event.step for event in read.Scalars("acceptance")], list(range(1, 15)))
        self.assertEqual([event.step for event in read.Images("samples")], [5, 10, 14])

    def test_evaluate(self):
        self.images()
        edges = torch.tensor([(i, (i + 1) % 16) for i in range(16)])
        torch.save({"edges": edges, "coupling": torch.full((16,), 0.3), "field": torch.zeros(16)},
                   self.folder / "ising.pt")
        self.run_job("evaluate --model ising --weights ising.pt --image 4x4 --dataset images.pt "
                     "--sampler pafs --chains 10 --steps 100 --reverse --out out "
                     "--tensorboard board", 2)
        read = events(self.folder / "board")
        result = json.loads((self.folder / "out/ais.json").read_text())
        self.assertEqual([event.step for event in read.Scalars("log_z")],
                         [point[0] for point in result["curve"]])
        [forward] = read.Scalars("log_likelihood/test/forward")
        self.assertAlmostEqual(forward.value, result["log_likelihood"]["test"]["forward"],
                               delta=1e-4)
        self.assertEqual(read.Histograms("log_weights_reverse")[0].histogram_value.num, 10)
        x = 2 * torch.load(self.folder / "out/chains.pt")["x"].double() - 1
        [energies] = read.Histograms("energy/chains")
        self.assertEqual(energies.histogram_value.num, 10)
        self.assertAlmostEqual(energies.histogram_value.sum,
                               -0.3 * (x * x.roll(-1, 1)).sum().item(), delta=1e-4)
        [picture] = read.Images("states")
        self.assertEqual(picture.width, (28 + 1) * 10 + 1)  # 4x4 pixels, enlarged by 7

    def test_ablate(self):
        (self.folder / "grid.toml").write_text('title = "t"\nrepeats = 2\n[common]\nchains = 3\n'
                                               'burn-in = 5\nsteps = 20\n'
                                               '[[models]]\ninstance = "ising-grid:side=4"\n'
                                               '[[samplers]]\nsampler = "gwg"\n')
        self.run_job("ablate --grid grid.toml --out out --tensorboard board", 2)
        read = events(self.folder / "board")
        [name] = [tag for tag in read.Tags()["scalars"] if tag.endswith("/acceptance")]
        rows = json.loads((self.folder / "out/results.json").read_text())["rows"]
        for event, row in zip(read.Scalars(name), rows, strict=True):
            self.assertAlmostEqual(event.value, row["metrics"]["acceptance"], delta=1e-6)

    def test_a_folder_that_cannot_be(self):
        (self.folder / "file").write_text("")
        self.run_job("sample --instance ising-grid:side=4 --sampler gwg --steps 2 --out out "
                     "--tensorboard file/board", code=2)
        self.assertFalse((self.folder / "out").exists())


if __name__ == "__main__":
    unittest.main()
