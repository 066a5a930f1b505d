"""Networks that others published: their energies, gradients, draws, training loops and state dicts.
Their code may not be copied here: ISINGLASS_PUBLISHED names a copy of
github.com/wgrathwohl/GWG_release, without which these tests are skipped.
"""
import importlib.util
import os
from pathlib import Path

import pytest
import torch

import isinglass as ig
from conftest import ROOT, states_of

FOLDERS = [os.environ.get("ISINGLASS_PUBLISHED", ""), ROOT.parent / "shared/peers/GWG_release"]
FILE = next((file for folder in FOLDERS if folder and (file := Path(folder) / "mlp.py").exists()),
            None)
pytestmark = pytest.mark.skipif(FILE is None,
                                reason="no copy of GWG_release: ISINGLASS_PUBLISHED names none")


@pytest.fixture(scope="module")
def published():
    spec = importlib.util.spec_from_file_location("published_mlp", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    return module


def sites_energy(net):
    """The published networks return log-densities, of [B] or [B, 1]."""
    return lambda x: -net(x).reshape(x.shape[0])


def cases(published):
    """Returns for each name: module, target."""
    resnet, mlp = published.ResNetEBM(16), published.mlp_ebm(784, 64)
    convolutions, one_hot = published.MNISTConvNet(8), published.MLPEBM_cat(20, 4, n_cat=5, nint=32)
    return {"ResNetEBM": (resnet, ig.energy(sites_energy(resnet), sites=784)),
            "mlp_ebm": (mlp, ig.energy(sites_energy(mlp), sites=784)),
            "MNISTConvNet": (convolutions, ig.energy(sites_energy(convolutions), sites=784)),
            "MLPEBM_cat": (one_hot, ig.energy(sites_energy(one_hot), sites=20, categories=5))}


NAMES = ["ResNetEBM", "mlp_ebm", "MNISTConvNet", "MLPEBM_cat"]


def theirs(net, target, x):
    relaxed = (x.float() if target.categories == 2
               else torch.nn.functional.one_hot(x.long(), target.categories).float())
    relaxed.requires_grad_()
    energy = -net(relaxed).reshape(len(x))
    return energy.detach(), torch.autograd.grad(energy.sum(), relaxed)[0].flatten(1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("chains", [7, 1])
def test_energies_and_gradients(published, name, chains):
    net, target = cases(published)[name]
    x = target.random_states(chains, seed=1)
    energy, gradient = target.energy_and_grad(x)
    expected = theirs(net, target, x)
    assert torch.equal(energy, expected[0]) and torch.equal(gradient.flatten(1), expected[1])


@pytest.mark.parametrize("name", NAMES)
def test_draws(published, name):
    net, target = cases(published)[name]
    for sampler in ("gwg", "pafs", "dlp"):
        run = ig.sample(target, sampler, chains=4, steps=6, thin=2, seed=1)
        for states, energy in zip(run.samples, run.energy):
            assert torch.allclose(theirs(net, target, states)[0].double(), energy.double(),
                                  rtol=1e-5)


def test_draws_follow_the_law(published):
    net = published.mlp_ebm(6, 16)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(3)  # new weights are nearly flat
        states = states_of(6)
        law = torch.softmax(net(states.float()).squeeze(-1).double(), 0)
    run = ig.sample(ig.energy(sites_energy(net), sites=6), "pafs", radius=3, chains=200,
                    burn_in=100, steps=400, thin=8, seed=2)
    number = (run.samples.long() * 2 ** torch.arange(5, -1, -1)).sum(-1)
    share = torch.stack([torch.bincount(each, minlength=64).double() / len(each)
                         for each in number.T])
    assert law.max() > 0.03 and run.summary["acceptance"] > 0.1
    error = share.std(0) / len(share) ** 0.5
    assert ((share.mean(0) - law).abs() < 5 * error + 1e-4).all()


def test_a_loop_of_ones_own(published):
    net = published.mlp_ebm(784, 64)
    target, sampler = ig.energy(sites_energy(net), sites=784), ig.sampler("pafs", radius=5)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    data = (torch.rand(200, 784) < 0.1).to(torch.uint8)
    buffer = ig.ReplayBuffer(100, mean=ig.base_mean(data), seed=0)
    gaps = []
    for batch in torch.utils.data.DataLoader(data, batch_size=50, shuffle=True):
        slots, x = buffer.draw(50)
        x = sampler.run(target, x, steps=5).x
        loss = net(x.float()).mean() - net(batch.float()).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        buffer.write_back(slots, x)
        gaps.append(loss.item())
    noise = torch.randint(0, 2, (200, 784))
    with torch.no_grad():
        assert net(data.float()).mean() > net(noise.float()).mean()
    assert all(gap == gap for gap in gaps)


def test_state_dicts(published, tmp_path):
    """The library's ResNet reads published state dicts, and published networks read the trained
    ones.
    """
    net = published.ResNetEBM(16)
    torch.save(net.state_dict(), tmp_path / "theirs.pt")
    target = ig.load("resnet", tmp_path / "theirs.pt")
    x = target.random_states(5, seed=1)
    energy, gradient = target.energy_and_grad(x)
    expected = theirs(net, target, x)
    assert torch.allclose(energy.float(), expected[0], rtol=1e-4, atol=1e-5)
    assert torch.allclose(gradient, expected[1], rtol=1e-3,
                          atol=1e-4 * expected[1].abs().max().item())
    data = (torch.rand(60, 784) < 0.1).to(torch.uint8)
    fit = ig.train(target, data, sampler="gwg", iters=2, batch=5, buffer=10, steps_per_iter=1,
                   warmup=0)
    net.load_state_dict(fit.parameters)
    torch.save(fit.parameters, tmp_path / "trained.pt")
    trained = ig.load("resnet", tmp_path / "trained.pt")
    assert torch.allclose(trained.energy(x).float(), theirs(net, trained, x)[0], rtol=1e-4,
                          atol=1e-5)


def test_the_trainer_trains_theirs(published):
    net = published.ResNetEBM(8)
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    target = ig.energy(torch.nn.Sequential(net, Negative()), sites=784)
    fit = ig.train(target, (torch.rand(60, 784) < 0.1).to(torch.uint8), sampler="gwg", iters=2,
                   batch=5, buffer=10, steps_per_iter=1, warmup=0)
    assert set(fit.parameters) == {f"0.{name}" for name in before}
    assert not torch.equal(net.state_dict()["proj.weight"], before["proj.weight"])


class Negative(torch.nn.Module):
    def forward(self, x):
        return -x.reshape(-1)
