"""Residual models in Python: a module on a base, samplers that move by the base, files and
pickles."""
import itertools
import pickle

import pytest
import torch

import isinglass as ig

SITES = 4


class Network(torch.nn.Module):
    """Energies of some nats of binary states [B, 4]."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.layers = torch.nn.Sequential(torch.nn.Linear(SITES, 8), torch.nn.Tanh(),
                                          torch.nn.Linear(8, 1))
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.mul_(3)

    def forward(self, x):
        return self.layers(x).squeeze(1)


@pytest.fixture
def base():
    torch.manual_seed(4)
    return ig.models.rbm(W=torch.randn(3, SITES), b_v=torch.randn(SITES), b_h=torch.randn(3))


def all_states():
    return torch.tensor(list(itertools.product([0, 1], repeat=SITES)), dtype=torch.uint8)


def test_energies_and_gradients_are_autograds(base):
    network = Network()
    for bound in (0, 2.5):
        target = ig.models.residual(base, network, bound=bound)
        x = all_states()
        relaxed = x.float().requires_grad_(True)
        f = network(relaxed).double()
        u = base.energy(relaxed) + (bound * torch.tanh(f / bound) if bound else f)
        gradient, = torch.autograd.grad(u.sum(), relaxed)
        energy, found = target.energy_and_grad(x)
        torch.testing.assert_close(energy, u.detach(), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(found, gradient, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("sampler", "options"),
                         [("surrogate", {}), ("surrogate", {"sweeps": 3}), ("pafs", {"radius": 1}),
                          ("pafs", {"radius": 1, "base_moves": 3})])
def test_draws_have_the_targets_probabilities(base, sampler, options):
    """Each state's frequency among the last states of independent chains lies within five standard
    errors."""
    target = ig.models.residual(base, Network(), bound=2.5)
    chains = 4000
    run = ig.sample(target, sampler, chains=chains, burn_in=100, steps=1, seed=5, **options)
    x = run.samples[-1].long()
    number = (x * 2 ** torch.arange(SITES - 1, -1, -1)).sum(1)
    share = torch.bincount(number, minlength=2 ** SITES).double() / chains
    p = torch.softmax(-target.energy(all_states()).double().detach(), 0)
    assert ((share - p).abs() <= 5 * torch.sqrt(p * (1 - p) / chains)).all()
    if sampler == "pafs":
        assert run.summary["base_moves"]["each_step"] == options.get("base_moves", 1)
        assert 0 < run.summary["base_moves"]["acceptance"] <= 1


def test_training_changes_the_network_alone(base):
    network = Network()
    target = ig.models.residual(base, network, bound=2.5)
    before = {name: tensor.clone() for name, tensor in base.parameters().items()}
    names = set(target.parameters())
    assert {"network.layers.0.weight", "base.W", "residual.bound"} <= names
    torch.manual_seed(1)
    images = (torch.rand(50, 2, 2) < 0.5).to(torch.uint8)
    weight = network.layers[0].weight.detach().clone()
    ig.train(target, images, iters=3, batch=10, buffer=20, steps_per_iter=2, warmup=0, lr=0.1)
    assert not torch.equal(weight, network.layers[0].weight)
    for name, tensor in base.parameters().items():
        assert torch.equal(tensor, before[name])


def test_noise_contrastive_estimation_trains_the_network_alone(base):
    """The loss falls below that of a guess, log 2, and the base keeps its parameters."""
    network = Network()
    target = ig.models.residual(base, network, bound=4, log_z=3.0)
    before = {name: tensor.clone() for name, tensor in base.parameters().items()}
    data = torch.ones(200, SITES, dtype=torch.uint8)
    data[::4, 0] = 0
    fit = ig.train(target, data, objective="nce", iters=200, batch=40, warmup=0, lr=0.02,
                   evaluate_every=100)
    assert fit.metrics[-1]["loss"] < 0.5
    assert fit.metrics[-1]["log_ratio_data"] > fit.metrics[-1]["log_ratio_noise"]
    assert fit.metrics[-1]["validation_standard_error"] > 0
    for name, tensor in base.parameters().items():
        assert torch.equal(tensor, before[name])
    with pytest.raises(ig.Error, match="trains the network of a residual model"):
        ig.train(base, data, objective="nce", iters=2, batch=40)


def test_a_residual_model_of_the_library_is_read_from_its_tensors(base):
    network = torch.nn.Sequential(torch.nn.Linear(SITES, 256), torch.nn.SiLU(),
                                  torch.nn.Linear(256, 256), torch.nn.SiLU(),
                                  torch.nn.Linear(256, 256), torch.nn.SiLU(),
                                  torch.nn.Linear(256, 1))
    made = ig.models.residual(base, ig.models.mlp(network), bound=3, log_z=2.5, log_z_error=0.125)
    again = pickle.loads(pickle.dumps(made))
    x = all_states()
    assert torch.equal(made.energy(x), again.energy(x))
    assert made.parameters()["residual.log_z"].tolist() == [2.5, 0.125]


def test_a_pickled_module_on_a_base(base):
    target = ig.models.residual(base, Network(), bound=2.5)
    again = pickle.loads(pickle.dumps(target))
    assert torch.equal(target.energy(all_states()), again.energy(all_states()))


def test_what_is_refused(base):
    with pytest.raises(ig.Error, match="the base is a Network, but must be a target"):
        ig.models.residual(Network(), Network())
    with pytest.raises(ig.Error, match="bound= is -1"):
        ig.models.residual(base, Network(), bound=-1)
    with pytest.raises(ig.Error, match="the base rbm has 4 sites, and the network bernoulli has 3"):
        ig.models.residual(base, ig.models.bernoulli(theta=torch.zeros(3)))
    with pytest.raises(ig.Error, match="has no base"):
        ig.sample(base, "pafs", steps=1, base_moves=1)
