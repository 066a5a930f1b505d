#!/usr/bin/env python3
"""Compares steps on random graphs in CPU microseconds per chain and step: as samplers make them on
max-cut; as general steps, which evaluate all sites (a product of one model has no lattice); and of
the same energy as a function of PyTorch, a product with the matrix of weights. Needs the package on
PYTHONPATH.
  PYTHONPATH=build/python scripts/dense_paths.py [SITES,… [NEIGHBOURS,…]]
"""
import sys
import time

import torch

import isinglass as ig

CHAINS, LEAST_SECONDS = 32, 0.4
SAMPLERS = (("gwg", {}), ("lbj", {}), ("pafs", {"radius": 5}), ("pafs", {"radius": 20}))


def graph(sites, neighbours):
    """Returns max-cut on a random graph with this mean number of neighbours, and the same energy as
    a function."""
    pairs = torch.triu_indices(sites, sites, 1).T
    chosen = torch.randperm(len(pairs))[:sites * neighbours // 2]
    weight = torch.randint(1, 3, (len(chosen),)).double()
    cut = ig.models.maxcut(edges=pairs[chosen], weight=weight, sites=sites)
    matrix = torch.zeros(sites, sites)
    matrix[tuple(pairs[chosen].T)] = weight.float()
    matrix = (matrix + matrix.T) / 4

    def energy(x):
        z = 2 * x - 1
        return (z @ matrix * z).sum(1) - matrix.sum()

    return cut, ig.energy(energy, sites=sites)


def microseconds(target, sampler, options):
    """Returns the CPU time of a step of a chain."""
    made = ig.sampler(sampler, **options)
    state = made.init(target, chains=CHAINS, seed=1)
    made.steps(target, state, 10)
    steps = 20
    while True:
        start = time.process_time()
        made.steps(target, state, steps)
        seconds = time.process_time() - start
        if seconds > LEAST_SECONDS:
            return seconds / steps / CHAINS * 1e6
        steps *= 3


def main():
    given = sys.argv[1:]
    texts = given + ["500,2000", "4,12,24,60,120"][len(given):]
    sizes, degrees = ([int(n) for n in text.split(",")] for text in texts)
    torch.set_num_threads(1)
    print("sites neighbours sampler options chosen general function")
    for sites in sizes:
        for neighbours in degrees:
            torch.manual_seed(0)
            target, function = graph(sites, neighbours)
            general = ig.models.product([target])
            for sampler, options in SAMPLERS:
                times = [microseconds(of, sampler, options) for of in (target, general, function)]
                print(sites, neighbours, sampler, options,
                      " ".join(f"{time:.1f}" for time in times), flush=True)


if __name__ == "__main__":
    main()
