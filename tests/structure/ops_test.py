"""Python can load and run the operators: torch.ops.load_library("libisinglass_ops.so").

Usage: ops_test.py LIBRARY, with LibTorch's own Python. The expectation of the path proposal is
computed here from its definition in float64 and shares nothing with the kernels.
"""
import sys
import unittest

import torch

SQRT, BARKER, MIN, MAX = range(4)  # kernels/base/balancing.h
LINEARISED = 1  # kernels/path/first_order_path.h: pafs
BINARISE = 65  # kernels/random/philox.h: Purpose::kBinarise

LOG_BALANCE = {
    SQRT: lambda d: 0.5 * d,
    BARKER: lambda d: -torch.nn.functional.softplus(-d),
    MIN: lambda d: d.clamp(max=0),
    MAX: lambda d: d.clamp(min=0),
}


def bernoulli_rows(p, rows, seed=1, step=0):
    out = torch.empty(rows, p.shape[-1], dtype=torch.uint8)
    torch.ops.isinglass.bernoulli_rows(p, torch.arange(rows), seed, step, BINARISE, out)
    return out


class BernoulliRows(unittest.TestCase):
    def test_same_counters_same_numbers(self):
        p = torch.full([50], 0.4)
        self.assertTrue(torch.equal(bernoulli_rows(p, 20), bernoulli_rows(p, 20)))
        self.assertFalse(torch.equal(bernoulli_rows(p, 20), bernoulli_rows(p, 20, seed=2)))
        self.assertFalse(torch.equal(bernoulli_rows(p, 20), bernoulli_rows(p, 20, step=1)))

    def test_a_row_depends_on_its_id_alone(self):
        p = torch.full([50], 0.4)
        self.assertTrue(torch.equal(bernoulli_rows(p, 20)[:7], bernoulli_rows(p, 7)))

    def test_frequencies(self):
        rows = 20000
        p = torch.tensor([0.0, 0.05, 0.5, 0.9, 1.0])
        frequency = bernoulli_rows(p, rows).double().mean(0)
        error = (p.double() * (1 - p.double()) / rows).sqrt()
        self.assertTrue(((frequency - p.double()).abs() <= 5 * error).all(), frequency)

    def test_a_wrong_dtype_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, "isinglass operator: p must be"):
            bernoulli_rows(torch.full([50], 0.4, dtype=torch.float64), 3)


def log_probability(x, sites, gradient, balancing):
    """Log-probability of flipping `sites` one after another, to first order around x (0/1, [D])."""
    state, total = x.double(), 0.0
    for site in sites:
        # Change of −U by a flip, from the state the path has come to, with the gradient at x.
        difference = -(1 - 2 * state) * gradient.double()
        total += torch.log_softmax(LOG_BALANCE[balancing](difference), 0)[site]
        state[site] = 1 - state[site]
    return float(total)


class DrawPath(unittest.TestCase):
    chains, sites, radius = 200, 40, 3.0

    def draw(self, balancing):
        generator = torch.Generator().manual_seed(3)
        x = torch.randint(2, [self.chains, self.sites], dtype=torch.uint8, generator=generator)
        gradient = torch.randn(self.chains, self.sites, generator=generator)
        longest = int(2 * self.radius - 1)
        y = torch.empty_like(x)
        length, site = torch.empty(self.chains, dtype=torch.int32), torch.empty(
            self.chains, longest, dtype=torch.int32)
        values = [torch.empty(self.chains, longest, dtype=torch.uint8) for _ in range(2)]
        blocks = (self.sites + 31) // 32
        numbers = 2 * blocks + 2 * (1 << (blocks - 1).bit_length()) + (blocks + 1) // 2  # sums_scratch()
        scratch = torch.empty(self.chains, numbers, dtype=torch.float64)
        log_q = torch.empty(self.chains, dtype=torch.float64)
        torch.ops.isinglass.draw_path(x, gradient, torch.tensor([7, 0]), torch.arange(self.chains),
                                      torch.tensor(self.radius, dtype=torch.float64), 2, LINEARISED,
                                      balancing, y, length, site, *values, scratch, log_q)
        return x, gradient, y, length, site, log_q

    def test_paths_and_their_probabilities(self):
        for balancing in LOG_BALANCE:
            with self.subTest(balancing=balancing):
                x, gradient, y, length, site, log_q = self.draw(balancing)
                self.assertEqual(set(length.tolist()), {1, 2, 3, 4, 5})  # 1 … 2R − 1
                changed = (x != y).sum(1)
                self.assertTrue((changed <= length).all())
                self.assertTrue((changed > 0).any())
                for chain in range(self.chains):
                    path = site[chain, :length[chain]].tolist()
                    flips = torch.bincount(torch.tensor(path), minlength=self.sites)
                    self.assertTrue(torch.equal(y[chain], (x[chain] + flips) % 2))
                    self.assertAlmostEqual(
                        float(log_q[chain]),
                        log_probability(x[chain], path, gradient[chain], balancing), delta=1e-9)


if __name__ == "__main__":
    torch.ops.load_library(sys.argv.pop(1))
    unittest.main()
