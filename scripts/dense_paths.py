#!/usr/bin/env python3
"""Compares path steps on random graphs as samplers make them with general steps, which evaluate all
sites (a product of one model has no lattice): CPU microseconds per chain and step. Needs the
package on PYTHONPATH.
  PYTHONPATH=build/python scripts/dense_paths.py [SITES,… [NEIGHBOURS,…]]
"""
import sys
import time

import torch

import isinglass as ig

CHAINS, LEAST_SECONDS = 32, 0.4
SAMPLERS = (("gwg", {}), ("pafs", {"radius": 5}), ("pafs", {"radius": 20}))


def graph(sites, neighbours):
    """Returns max-cut on a random graph with this mean number of neighbours."""
    pairs = torch.triu_indices(sites, sites, 1).T
    chosen = torch.randperm(len(pairs))[:sites * neighbours // 2]
    weight = torch.randint(1, 3, (len(chosen),)).double()
    return ig.models.maxcut(edges=pairs[chosen], weight=weight, sites=sites)


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
    print("sites neighbours sampler options chosen general ratio")
    for sites in sizes:
        for neighbours in degrees:
            torch.manual_seed(0)
            target = graph(sites, neighbours)
            general = ig.models.product([target])
            for sampler, options in SAMPLERS:
                chosen = microseconds(target, sampler, options)
                other = microseconds(general, sampler, options)
                print(sites, neighbours, sampler, options, f"{chosen:.1f} {other:.1f}",
                      f"{chosen / other:.2f}", flush=True)


if __name__ == "__main__":
    main()
