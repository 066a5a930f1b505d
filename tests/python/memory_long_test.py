"""Targets, samplers and states leak no memory."""
import gc
import os

import torch

import isinglass as ig
from conftest import Mlp

SITES = 16


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_is_flat_over_10_000_inits(ising):
    torch.set_num_threads(1)
    module = Mlp(SITES)
    sampler = ig.sampler("pafs", radius=2)

    def inits(count):
        for _ in range(count):
            target = ig.energy(module, sites=SITES)
            sampler.step(target, sampler.init(target, chains=10, seed=0))
            sampler.init(ising, chains=10, seed=0)
        gc.collect()

    inits(1000)
    before, objects = resident(), len(gc.get_objects())
    inits(10_000)
    assert len(gc.get_objects()) < objects + 100
    assert resident() - before < 8 << 20  # a state alone is some 10 KB: 200 MB of them
