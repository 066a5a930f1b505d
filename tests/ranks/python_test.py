"""The Python package on several ranks: one script gives the same results with 1, 2 and 3
processes."""
import signal
import sys
import unittest

import torch
from job import Folder, Job

PYTHON = (sys.executable, "-B")
HEAD = """
import sys, torch, isinglass as ig
torch.set_num_threads(1)

class Cubic(torch.nn.Module):  # without a symmetry, and of sums that rows do not share
    def __init__(self):
        super().__init__()
        self.field = torch.nn.Parameter(torch.linspace(-1, 1, 9))

    def forward(self, x):
        pairs, triple = (x[:, 1:] * x[:, :-1]).sum(1), x[:, 0] * x[:, 4] * x[:, 8]
        return (x * self.field).sum(1) + 0.3 * pairs + 0.1 * triple
"""
SAMPLED = HEAD + """
with ig.Ranks() as ranks:
    assert ranks.leads == (ranks.rank == 0) and ranks.local_rank == ranks.rank
    assert ranks.device.type in ("cpu", "cuda")
    module = ig.energy(Cubic(), sites=9)
    lattice = ig.instance("ising-grid:side=4,coupling=0.3")
    first = ig.sample(module, "pafs", radius=3, chains=13, burn_in=20, steps=60, thin=3, seed=1,
                      moves=True)
    second = ig.sample(lattice, "dlp", adapt=True, chains=13, burn_in=50, steps=40, seed=2)
    tempered = ig.sample(lattice, "gibbs", rungs="5", chains=4, burn_in=40, steps=20, seed=2)
    found = ig.evaluate(module, chains=11, steps=100, sampler="gwg", reverse=True)
    other = ig.evaluate(lattice, chains=7, steps=100, sampler="gibbs", method="tempering")
    assert ranks.leads == (first is not None) == (second is not None)
    values = [{key: value for key, value in each.values.items() if "second" not in key}
              for each in (found, other)]
    torch.save({"evaluations": str(values), "log_weights": found.log_weights, "x": other.x},
               f"evaluated-{sys.argv[1]}-{ranks.rank}.pt")
    if ranks.leads:
        torch.save({"first": first.samples, "hops": first.hops, "second": second.samples,
                    "energy": second.energy, "tempered": tempered.samples,
                    "adapted": second.summary["adapted"]}, f"sampled-{sys.argv[1]}.pt")
"""
TRAINED = HEAD + """
torch.manual_seed(0)
data = (torch.rand(200, 9) < torch.linspace(0.1, 0.9, 9)).to(torch.uint8)
with ig.Ranks() as ranks:
    module, told = Cubic(), []
    fit = ig.train(module, data, sampler="pafs", radius=3, iters=20, steps_per_iter=3, buffer=60,
                   batch=12, warmup=0, lr=1e-2, l2=0.1, seed=3, callback=told.append,
                   out=f"run-{ranks.size}")
    assert fit.iteration == 20 == len(told)
    torch.save(module.state_dict(), f"trained-{ranks.size}-{ranks.rank}.pt")
    grids = [ig.ablate(targets={"cubic": ig.energy(Cubic(), sites=9)},
                       samplers=["gwg", {"sampler": "pafs", "radius": [2, 3]}], repeats=2, chains=4,
                       burn_in=10, steps=20, out=f"grid-{ranks.size}-{i}") for i in range(2)]
    for grid in grids:
        assert (grid is not None) == ranks.leads
        if grid:
            assert len(grid.frame) == 6 and (grid.frame.status == "done").all(), grid.frame
            grid.frame.acceptance.to_csv(f"acceptance-{ranks.size}.csv")
"""
REFUSED = HEAD + """
with ig.Ranks() as ranks:
    for call in (lambda: ig.train(Cubic(), torch.zeros(20, 9, dtype=torch.uint8)),
                 lambda: ig.ablate("parity")):
        try:
            call()
        except ig.Error as error:
            assert str(error) == ("with several ranks out= is needed, a directory that all of them "
                                  "can access"), error
        else:
            sys.exit(3)
    try:
        ig.sample(ig.energy(Cubic(), sites=9), "gwg", chains=0, steps=5)
    except ig.Error as error:
        assert "chains=" in str(error), error
    # The ranks go on together.
    assert ig.evaluate(ig.energy(Cubic(), sites=9), chains=4, steps=5, sampler="gwg").log_z
"""
FAILS = HEAD + """
with ig.Ranks() as ranks:
    def energy(x):
        if ranks.rank == 1:
            raise RuntimeError("a cosmic ray")
        return x.sum(1)
    ig.sample(ig.energy(energy, sites=9), "gwg", chains=8, steps=100000000, thin=100000000)
"""
INTERRUPTED = HEAD + """
with ig.Ranks() as ranks:
    calls = 0
    def energy(x):
        global calls
        calls += 1
        if calls == 30:  # well inside of the run
            open(f"begun-{ranks.rank}", "w").close()
        return x.sum(1)
    try:
        ig.sample(ig.energy(energy, sites=9), "gwg", chains=8, steps=100000000, thin=100000000)
    except KeyboardInterrupt as stop:
        print("stopped", stop.run.summary["steps_done"] if ranks.leads else stop.run, flush=True)
        raise
"""

STOPPED = HEAD + """
with ig.Ranks() as ranks:
    target = ig.energy(lambda x: x.sum(1), sites=9)
    run = ig.sample(target, "gwg", chains=8, steps=10**7, no_samples=True,
                    stop=lambda: ranks.rank == 1)
    assert (run is not None) == ranks.leads and (run is None or run.interrupted)
    told = []
    def tell(numbers):
        told.append(numbers)
        return ranks.rank == 1 and len(told) == 5
    data = torch.ones(40, 9, dtype=torch.uint8)
    fit = ig.train(Cubic(), data, sampler="gwg", iters=1000, steps_per_iter=1, buffer=60, batch=12,
                   warmup=0, out="run", callback=tell)
    assert fit.interrupted and fit.iteration == len(told) == 6, fit
    found = ig.evaluate(target, chains=4, steps=10**6, sampler="gwg",
                        stop=lambda: ranks.rank == 1)
    assert found.interrupted
    again = ig.evaluate(target, chains=4, steps=5, sampler="gwg")  # the stop ended that call only
    assert not again.interrupted
"""


class PythonOnRanks(unittest.TestCase):
    def script(self, folder, text, size, arguments=""):
        (folder / "script.py").write_text(text)
        return Job(f"script.py {arguments}", size, folder, program=PYTHON)

    def finish(self, job):
        self.assertEqual(job.wait(), [0] * len(job.ranks), job.lines())

    def same(self, first, second):
        self.assertEqual(first.keys(), second.keys())
        for key, value in first.items():
            equal = (torch.equal(value, second[key]) if isinstance(value, torch.Tensor)
                     else value == second[key])
            self.assertTrue(equal, key)

    def test_samples_and_evaluations_are_those_of_one_process(self):
        with Folder() as folder:
            for size in (1, 2, 3):
                self.finish(self.script(folder, SAMPLED, size, str(size)))
            whole, found = (torch.load(folder / "sampled-1.pt"),
                            torch.load(folder / "evaluated-1-0.pt"))
            self.assertEqual(whole["first"].shape, (20, 13, 9))
            for size in (2, 3):
                self.same(torch.load(folder / f"sampled-{size}.pt"), whole)
                for rank in range(size):
                    self.same(torch.load(folder / f"evaluated-{size}-{rank}.pt"), found)

    def test_training_and_grids(self):
        with Folder() as folder:
            for size in (1, 2):
                self.finish(self.script(folder, TRAINED, size))
            alone = torch.load(folder / "trained-1-0.pt")["field"]
            first, second = (torch.load(folder / f"trained-2-{rank}.pt")["field"]
                             for rank in range(2))
            self.assertTrue(torch.equal(first, second))
            self.assertGreater((alone - torch.linspace(-1, 1, 9)).abs().max(), 0.01)
            torch.testing.assert_close(first, alone, rtol=0, atol=1e-5)
            self.assertEqual((folder / "acceptance-2.csv").read_text(),
                             (folder / "acceptance-1.csv").read_text())

    def test_bad_input_is_refused_on_all_and_nobody_hangs(self):
        with Folder() as folder:
            self.finish(self.script(folder, REFUSED, 2))

    def test_a_stop_of_one_rank_ends_the_call_on_all(self):
        with Folder() as folder:
            self.finish(self.script(folder, STOPPED, 2))

    def test_arguments_may_differ_by_rank(self):
        """torch.distributed.launch passes --local-rank=N, and the name of a log file contains the
        rank.
        """
        with Folder() as folder:
            (folder / "script.py").write_text(HEAD + "with ig.Ranks() as ranks:\n"
                                                     "    assert ranks.size == 2\n")
            job = Job("script.py --local-rank=0", 2, folder, ranks=[0], program=PYTHON)
            job.ranks += Job("script.py --local-rank=1", 2, folder, job.port, ranks=[1],
                             program=PYTHON).ranks
            self.finish(job)

    def test_a_rank_that_cannot_join_ends_the_others_at_once(self):
        with Folder() as folder:
            for name in ("script.py", "other.py"):
                (folder / name).write_text(HEAD + "with ig.Ranks() as ranks:\n    pass\n")
            job = Job("script.py", 2, folder, program=PYTHON, ranks=[0])
            job.ranks += Job("other.py", 2, folder, job.port, ranks=[1], program=PYTHON).ranks
            self.assertEqual(job.wait(40), [1, 1], job.lines())
            self.assertIn("was started with another command line, script or number of "
                          "ranks than the others",
                          "\n".join(job.lines()))

    def test_a_rank_that_raises_ends_all(self):
        with Folder() as folder:
            job = self.script(folder, FAILS, 3)
            self.assertEqual(job.wait(40), [1, 1, 1], job.lines())
            self.assertIn("RuntimeError: a cosmic ray", job.ranks[1].said())

    def test_ctrl_c_to_one_rank_stops_all_at_the_same_step(self):
        with Folder() as folder:
            job = self.script(folder, INTERRUPTED, 2)
            self.assertTrue(
                job.reaches(lambda: all((folder / f"begun-{rank}").exists() for rank in range(2))))
            job.ranks[1].process.send_signal(signal.SIGINT)
            codes = job.wait(40)
            self.assertTrue(all(code not in (0, "hung") for code in codes), codes)
            self.assertRegex(job.ranks[0].out.read_text(), r"^stopped \d+\n$")
            self.assertEqual(job.ranks[1].out.read_text(), "stopped None\n")


if __name__ == "__main__":
    unittest.main()
