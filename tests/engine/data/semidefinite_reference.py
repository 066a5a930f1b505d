"""Reference values of the diagonal bounds in ../semidefinite_test.cpp, by the general solver SCS.

Made once with: pip install cvxpy scs numpy; python semidefinite_reference.py
For each W the least tr D and the least λ_max(W + D) under D ⪰ 0, W + D ⪰ 0. The matrices are those
of the test: both draw them from the same linear congruential generator.
"""
import sys

import cvxpy as cp
import numpy as np


class Generator:
    def __init__(self, state):
        self.state = state

    def below(self, n):
        self.state = (1664525 * self.state + 1013904223) % 2**32
        return self.state * n >> 32


def barabasi_albert(nodes, attached):
    """Each new node is joined to `attached` different ones, by their degrees."""
    generator = Generator(7)
    w, ends, targets = np.zeros((nodes, nodes)), [], list(range(attached))
    for node in range(attached, nodes):
        for target in targets:
            w[node, target] = w[target, node] = 1
            ends += [target, node]
        targets = []
        while len(targets) < attached:
            candidate = ends[generator.below(len(ends))]
            if candidate not in targets:
                targets.append(candidate)
    return w


def dense(n):
    """Uniform in (-1, 1), the diagonal too."""
    generator = Generator(3)
    w = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            w[i, j] = w[j, i] = generator.below(2**20) / 2**19 - 1
    return w


def solve(w, largest, **settings):
    n = len(w)
    d, bound = cp.Variable(n), cp.Variable()
    constraints = [d >= 0, w + cp.diag(d) >> 0]
    if largest:
        constraints.append(bound * np.eye(n) - w - cp.diag(d) >> 0)
    problem = cp.Problem(cp.Minimize(bound if largest else cp.sum(d)), constraints)
    problem.solve(solver=cp.SCS, max_iters=20000, **settings)
    return problem.value, problem.status


if __name__ == "__main__":
    cases = {"dense": (dense(100), 1e-7), "barabasi_albert": (barabasi_albert(400, 4), 1e-5)}
    for name in sys.argv[1:] or cases:
        w, eps = cases[name]
        for largest in (False, True):
            print(name, "max" if largest else "trace", *solve(w, largest, eps=eps), flush=True)
