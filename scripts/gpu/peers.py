"""Times the steps of the published programs for a ResNet EBM on a GPU, and plain calls of their
network.

Usage: peers.py --gwg CHECKOUT --pas CHECKOUT [--device DEVICE] [--batch N] [--reps N] [--full]
           [--json OUT]

The checkouts are the public repositories wgrathwohl/GWG_release and
ha0ransun/Path-Auxiliary-Sampler. The steps are made by their own code, as their scripts call it,
with random weights and 100 chains: `gwg`, its AIS step and its PCD iteration of 10 steps, and
`mscorrect-5`, the path auxiliary sampler for deep EBMs. By default PyTorch runs their convolutions
in TF32 if the GPU supports it; --full keeps full float32 precision, as Isinglass does. Times are
medians of interleaved rounds, each of which waits for the device to finish. `isinglass bench` times
the same steps of Isinglass.
"""
import argparse
import importlib.machinery
import importlib.util
import json
import statistics
import sys
import time
from unittest import mock

import numpy as np
import torch
import torch.types

parser = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--gwg", required=True)
parser.add_argument("--pas", required=True)
parser.add_argument("--device", default="cuda")
parser.add_argument("--batch", type=int, default=100)
parser.add_argument("--reps", type=int, default=11)
parser.add_argument("--pcd-steps", type=int, default=10)
parser.add_argument("--full", action="store_true")
parser.add_argument("--json")
arguments = parser.parse_args()

# The programs import modules that these steps do not need, and a name that newer releases of
# PyTorch no longer have. Replacements are provided for the modules that are not installed, and for
# the name.
if not hasattr(torch.types, "Tuple"):
    torch.types.Tuple = tuple
unneeded = ("igraph", "matplotlib", "matplotlib.pyplot", "scipy", "scipy.io", "sklearn",
            "sklearn.datasets", "sklearn.utils", "torch_scatter", "torchvision",
            "torchvision.transforms", "tqdm")
missing = {name for name in unneeded if "." not in name and importlib.util.find_spec(name) is None}
for name in unneeded:
    if name.partition(".")[0] in missing:
        sys.modules[name] = mock.MagicMock(__spec__=importlib.machinery.ModuleSpec(name, None))
sys.path[:0] = [arguments.gwg, arguments.pas]
import ais as gwg_ais  # noqa: E402
import mlp  # noqa: E402
import pcd_ebm_ema  # noqa: E402
import samplers  # noqa: E402
from PAS.debm.sampling import multistep_sampler  # noqa: E402

torch.backends.cudnn.allow_tf32 = not arguments.full
torch.manual_seed(0)
np.random.seed(0)
device, chains, sites = torch.device(arguments.device), arguments.batch, 784
mean = (torch.rand(sites) * .3 + .01).to(device)
model = pcd_ebm_ema.EBM(mlp.ResNetEBM(64), mean).to(device)
start = torch.distributions.Bernoulli(probs=mean)
gwg = samplers.DiffSampler(sites, 1, fixed_proposal=False, approx=True, multi_hop=False,
                           temp=2.).to(device)
pafs = multistep_sampler.MSPathCorrectSampler(5)
bridge = gwg_ais.AISModel(model, start)
states = {name: start.sample((chains,)) for name in ("plain", "gwg", "pafs", "ais")}
log_weights, betas, at = torch.zeros(chains, device=device), np.linspace(0., 1., 10000), [0]
optimiser = torch.optim.Adam(model.parameters(), lr=1e-6)
average = [p.detach().clone() for p in model.parameters()]
buffer, data = start.sample((10000,)).cpu(), start.sample((chains,))


def forward():
    with torch.no_grad():
        model(states["plain"])


def gradient():
    x = states["plain"].detach().requires_grad_()
    torch.autograd.grad(model(x).sum(), x)


def step(name, sampler):
    def moved():
        states[name] = sampler.step(states[name].detach(), model).detach()
    return moved


def ais_step():
    """Runs the body of the loop in GWG's ais.evaluate."""
    at[0] = at[0] % 9998 + 1
    beta, before = betas[at[0]], betas[at[0] - 1]
    with torch.no_grad():
        log_weights.add_(bridge(states["ais"], beta) - bridge(states["ais"], before))
    states["ais"] = gwg.step(states["ais"].detach(), lambda x: bridge(x, beta=beta)).detach()


def pcd_iteration():
    """Runs the body of the loop in GWG's pcd_ebm_ema.main."""
    chosen = sorted(np.random.choice(len(buffer), chains, replace=False))
    fake = buffer[chosen].to(device)
    for _ in range(arguments.pcd_steps):
        moved = gwg.step(fake.detach(), model).detach()
        (moved != fake).float().view(chains, -1).sum(-1).mean().item()
        fake = moved
    buffer[chosen] = fake.detach().cpu()
    loss = -(model(data).squeeze().mean() - model(fake).squeeze().mean())
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    for parameter, mean_parameter in zip(model.parameters(), average):
        mean_parameter.mul_(.999).add_(parameter.data, alpha=.001)


def synchronise():
    if device.type == "cuda":
        torch.cuda.synchronize()


timed = {"forward": forward, "forward and gradient": gradient, "gwg": step("gwg", gwg),
         "mscorrect-5": step("pafs", pafs), "ais step by gwg": ais_step,
         f"pcd iteration of {arguments.pcd_steps} gwg steps": pcd_iteration}
seconds = {name: [] for name in timed}
for turn in range(arguments.reps + 3):
    for name, call in timed.items():
        synchronise()
        begin = time.perf_counter()
        call()
        synchronise()
        if turn >= 3:
            seconds[name].append(time.perf_counter() - begin)
for name, all_seconds in seconds.items():
    print(f"{name}\t{1e3 * statistics.median(all_seconds):.3f} ms\t{1e3 * min(all_seconds):.3f} to "
          f"{1e3 * max(all_seconds):.3f}")
if arguments.json:
    with open(arguments.json, "w", encoding="utf-8") as file:
        name = torch.cuda.get_device_name(0) if device.type == "cuda" else device.type
        json.dump({"device": name, "torch": torch.__version__, "full": arguments.full,
                   "batch": chains, "seconds": seconds}, file, indent=1)
