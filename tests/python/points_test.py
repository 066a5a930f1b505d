"""Networks of continuous states: bounds, training by chains, and buffers and chains that are saved
as state dicts."""
import io
import json
import math
import subprocess
import warnings

import numpy as np
import pytest
import torch

import isinglass as ig
from conftest import PROGRAM, Mlp


class Quadratic(torch.nn.Module):
    """U(x) = Σ (a x + b x²)."""

    def __init__(self, sites, a=0.0, b=0.0):
        super().__init__()
        self.a = torch.nn.Parameter(torch.full((sites,), a))
        self.b = torch.nn.Parameter(torch.full((sites,), b))

    def forward(self, x):
        return (self.a * x + self.b * x * x).sum(1)


def saved(value):
    """Returns what torch.load reads without executing code."""
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def moments(a, b, low=0.0, high=1.0):
    """E x and E x² of one site, and its log Z, by quadrature."""
    x = low + (high - low) * (torch.arange(20000, dtype=torch.float64) + 0.5) / 20000
    u = a * x + b * x * x
    p = torch.softmax(-u, 0)
    return ((p * x).sum().item(), (p * x * x).sum().item(),
            (torch.logsumexp(-u, 0) + math.log((high - low) / 20000)).item())


@pytest.mark.parametrize("sampler, options", [("mala", {"step_size": 0.5}),
                                              ("hmc", {"step_size": 0.3, "leapfrog": 4}),
                                              ("fhl", {"step_size": 0.3, "leapfrog": 3})])
def test_samples_within_bounds(sampler, options):
    target = ig.energy(Quadratic(2, -3.0, 1.0), sites=2, bounds=(0, 1))
    assert target.states == "continuous" and target.bounds == (0.0, 1.0)
    run = ig.sample(target, sampler, chains=200, burn_in=100, steps=400, thin=4, seed=1, **options)
    x = run.samples.double()
    assert x.min() >= 0 and x.max() <= 1
    first, second, _ = moments(-3, 1)
    # Means of 200 chains, which are independent of each other (fhl: of 50 groups).
    for values, expected in ((x, first), (x * x, second)):
        of_chains = values.mean(0)  # [chains, sites]
        groups = of_chains.reshape(50, 4, 2).mean(1)
        error = groups.std(0) / 50**0.5
        assert ((groups.mean(0) - expected).abs() < 4 * error).all()


def test_the_normaliser_within_bounds():
    target = ig.energy(Quadratic(3, -3.0, 1.0), sites=3, bounds=(-0.5, 1))
    evaluation = ig.evaluate(target, chains=200, steps=200, sampler="hmc", step_size=0.3,
                             seed=2)
    exact = 3 * moments(-3, 1, -0.5, 1)[2]
    assert abs(evaluation.log_z - exact) < 5 * max(evaluation.log_z_se, 1e-3)
    run = ig.sample(target, "hmc", rungs=4, chains=20, steps=200, seed=3, step_size=0.3)
    assert run.samples.min() >= -0.5 and run.samples.max() <= 1


def test_bounds_of_targets():
    normal = ig.models.gaussian(mean=torch.zeros(2), precision=torch.ones(2))
    inside = normal.bounded(0, 1)
    assert normal.bounds is None and inside.bounds == (0.0, 1.0)
    assert inside.at_temperature(2).bounds == (0.0, 1.0)
    assert inside.given(torch.tensor([0.5, math.nan])).bounds == (0.0, 1.0)
    with pytest.raises(ig.Error, match="the values of fixed sites hold the value 1.5"):
        inside.given(torch.tensor([1.5, math.nan]))
    with pytest.raises(ig.Error, match="bounds= is 1,0; two finite numbers"):
        normal.bounded(1, 0)
    with pytest.raises(ig.Error, match=r"bounds= is 3; a pair of numbers is needed"):
        ig.energy(Quadratic(2), sites=2, bounds=3)
    with pytest.raises(ig.Error, match="bounds= are those of continuous states, but states= is"):
        ig.energy(Quadratic(2), sites=2, bounds=(0, 1), states="binary")
    with pytest.raises(ig.Error, match="a target has its own"):
        ig.train(inside, torch.rand(20, 2), bounds=(0, 1))
    with pytest.raises(ig.Error, match="the initial states hold the value 2"):
        ig.sampler("hmc").init(inside, torch.full((3, 2), 2.0))


def points(count):
    """Draws of Quadratic(2, -3, 1) in [0, 1], by the inverse distribution function."""
    torch.manual_seed(4)
    x = (torch.arange(20000) + 0.5) / 20000
    p = torch.softmax(3 * x - x * x, 0)
    return x[torch.multinomial(p, 2 * count, replacement=True)].reshape(count, 2)


def test_training_a_module_within_bounds():
    module = Quadratic(2)
    data = points(1000)
    fit = ig.train(module, {"train": data}, bounds=(0, 1), step_size=0.6, batch=200, buffer=1000,
                   steps_per_iter=5, iters=400, lr=0.05, ema=0.98, seed=5)
    assert fit.options["sampler"] == "mala" and fit.options["bounds"] == "0,1"
    assert fit.options["reinit"] == 0.05 and fit.target.bounds == (0.0, 1.0)
    fit.load_into(module)
    for i in range(2):
        first, second, _ = moments(module.a[i].item(), module.b[i].item())
        x = data[:, i].double()
        # The average sees some fifty iterations of 200 chains.
        assert abs(first - x.mean()) < 5 * x.std() / (50 * 200)**0.5
        assert abs(second - (x * x).mean()) < 5 * (x * x).std() / (50 * 200)**0.5
    run = ig.sample(fit.target, chains=10, steps=10)
    assert run.samples.min() >= 0 and run.samples.max() <= 1


def test_states_of_64_bits():
    normal = ig.models.gaussian(mean=torch.zeros(2), precision=torch.ones(2))
    start = torch.tensor([[0.5, -1.0]], dtype=torch.float64)
    for x in (start, start.numpy(), start.tolist()):
        assert ig.sample(normal, "mala", init=x, steps=2).samples.dtype == torch.float32
        assert normal.energy(torch.as_tensor(x)).item() == normal.energy(start.float()).item()
    spins = ig.instance("ising-grid:side=2")
    with pytest.raises(ig.Error, match="the initial states must be uint8, but are float64"):
        ig.sample(spins, "gwg", init=torch.zeros(3, 4, dtype=torch.float64), steps=2)


def test_real_rows_that_are_read_as_images_are_named():
    data = torch.rand(40, 4, generator=torch.Generator().manual_seed(1))
    few = dict(iters=2, batch=5, buffer=10, steps_per_iter=1, warmup=0)
    words = ("the values of the tensor are taken for grey levels: every iteration draws 0 or 1 for "
             "each, with the level as the probability of 1; bounds= trains a model of continuous "
             "states on the values themselves")
    with pytest.warns(UserWarning) as told:
        fit = ig.train(Mlp(4), data, sampler="gwg", **few)
    assert [str(one.message) for one in told] == [words] and fit.notes == [words]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ig.train(Mlp(4), data, bounds=(0, 1), **few).notes == []
        assert ig.train(Mlp(4), (data > 0.5).float(), sampler="gwg", **few).notes == []
        grey = ig.train(Mlp(4), data.view(40, 2, 2), sampler="gwg", **few)  # images have a shape
    assert "grey levels" in grey.notes[0] and "bounds" not in grey.notes[0]


def test_the_likelihood_of_points():
    """Densities of points under a normal target, whose log Z is known, and under their own normal
    distribution."""
    generator = torch.Generator().manual_seed(4)
    points = torch.randn(300, 2, generator=generator, dtype=torch.float64) * .8 + .3
    target = ig.models.gaussian(mean=torch.tensor([.2, .1]), precision=torch.tensor([[2., .5],
                                                                                    [.5, 1.]]))
    found = ig.evaluate(target, {"train": points[:200], "test": points[200:]}, sampler="hmc",
                        chains=400, steps=200, seed=3)
    law = torch.distributions.MultivariateNormal(
        torch.tensor([.2, .1], dtype=torch.float64),
        precision_matrix=torch.tensor([[2., .5], [.5, 1.]], dtype=torch.float64))
    fitted = torch.distributions.Normal(points[:200].mean(0), points[:200].std(0, unbiased=False))
    for split, x in (("train", points[:200]), ("test", points[200:])):
        exact = law.log_prob(x).mean().item()
        low, high = found.log_likelihood_interval[split]
        assert low <= exact <= high and high - low < .5
        assert found.log_likelihood[split]["bidirectional"] == pytest.approx(
            exact, abs=4 * found.log_z_bidirectional_se)
        assert found.baseline[split] == pytest.approx(fitted.log_prob(x).sum(1).mean().item(),
                                                      abs=1e-6)
        assert found.bits_per_dim[split] == pytest.approx(-exact / 2 / math.log(2), abs=.1)
    alone = ig.evaluate(target, points[200:].numpy(), sampler="hmc", chains=400, steps=200, seed=3)
    assert alone.log_likelihood["forward"] == pytest.approx(found.log_likelihood["test"]["forward"])


def test_the_likelihood_of_points_within_bounds():
    target = ig.energy(Quadratic(3, 1.5, -2.0), sites=3, states="continuous", bounds=(-1, 2))
    points = torch.rand(50, 3, generator=torch.Generator().manual_seed(2)) * 3 - 1
    found = ig.evaluate(target, points, sampler="hmc", chains=200, steps=200, seed=1)
    log_z = 3 * moments(1.5, -2.0, -1, 2)[2]
    exact = -target.energy(points).double().mean().item() - log_z
    low, high = found.log_likelihood_interval
    assert low <= exact <= high
    with pytest.raises(ig.Error, match="^the train points hold the value 2.5, which is outside of "
                                       "the bounds -1 and 2"):
        ig.evaluate(target, points.masked_fill(points > 1.9, 2.5), sampler="hmc", steps=10)
    grey = (torch.rand(20, 3, generator=torch.Generator().manual_seed(3)) * 255).byte()
    levels = ig.evaluate(target, {"train": grey, "test": grey}, sampler="hmc", steps=20, seed=1)
    values = ig.evaluate(target, grey / 255, sampler="hmc", steps=20, seed=1)
    assert levels.log_likelihood["test"] == pytest.approx(values.log_likelihood, rel=1e-6)


def test_an_evaluation_of_points_says_what_does_not_fit():
    target = ig.energy(Quadratic(3), sites=3, states="continuous", bounds=(0, 1))
    with pytest.raises(ig.Error, match="^the tensor has 2 continuous sites per point, but model "
                                       ".* has 3 continuous sites"):
        ig.evaluate(target, torch.rand(30, 2), steps=10)
    with pytest.raises(ig.Error, match=r"^test= takes a file; .* images=\{'train': …, 'test': …\}"):
        ig.evaluate(target, torch.rand(30, 3), test=torch.rand(30, 3), steps=10)


def test_the_program_measures_the_likelihood_of_points(tmp_path):
    points = torch.randn(100, 2, generator=torch.Generator().manual_seed(1))
    np.save(tmp_path / "points.npy", points.numpy())
    torch.save({"mean": torch.zeros(2), "precision": torch.eye(2)}, tmp_path / "normal.pt")
    command = ("evaluate --model gaussian --weights normal.pt --dataset points.npy --sampler hmc "
               "--chains 100 --steps 100 --out out --quiet")
    done = subprocess.run([PROGRAM, *command.split()], cwd=tmp_path, capture_output=True,
                          text=True, check=True)
    assert "bits per dimension; independent normal sites" in done.stdout
    found = json.loads((tmp_path / "out/ais.json").read_text())["log_likelihood"]["train"]
    exact = torch.distributions.Normal(0, 1).log_prob(points).sum(1).mean().item()
    # Annealing starts at the target.
    assert found["bidirectional"] == pytest.approx(exact, abs=1e-4)


def test_training_a_model_by_name_within_bounds(tmp_path):
    images = torch.rand(40, 4, 4)
    options = {"bounds": (0, 1), "data_noise": 0.03, "batch": 8, "buffer": 16,
               "steps_per_iter": 2, "seed": 1}
    whole = ig.train("mlp", images, iters=6, out=tmp_path / "whole", **options)
    assert whole.target.states == "continuous" and whole.target.bounds == (0.0, 1.0)
    assert (tmp_path / "whole/data.png").exists()
    ig.train("mlp", images, iters=3, out=tmp_path / "part", warmup=0, **options)
    part = ig.train("mlp", images, iters=6, out=tmp_path / "part", warmup=0, **options)
    for name, value in whole.parameters.items():
        assert torch.equal(value, part.parameters[name]), name
    with pytest.raises(ig.Error, match="data_noise= is added to continuous states"):
        ig.train("mlp", (images > 0.5).to(torch.uint8), iters=1, data_noise=0.1)
    with pytest.raises(ig.Error, match="hold the value .*outside of the bounds 0 and 0.5"):
        ig.train("mlp", images, iters=1, bounds=(0, 0.5))
    with pytest.raises(ig.Error, match="bounds= cannot be combined with objective= dsm"):
        ig.train("mlp", images, iters=1, objective="dsm", bounds=(0, 1))


def test_buffers_of_all_kinds():
    size = 2000
    real = ig.ReplayBuffer(size, bounds=(-1, 1), sites=3, seed=1)
    assert real.states.dtype == torch.float32 and real.states.shape == (size, 3)
    assert (real.states.mean(0).abs() < 4 / (3 * size)**0.5).all() and real.states.abs().max() <= 1
    normal = ig.ReplayBuffer(size, mean=torch.tensor([1.0, -2.0]),
                             deviation=torch.tensor([0.5, 2.0]), seed=1)
    z = (normal.states - torch.tensor([1.0, -2.0])) / torch.tensor([0.5, 2.0])
    assert (z.mean(0).abs() < 4 / size**0.5).all()
    p = torch.tensor([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    categorical = ig.ReplayBuffer(size, mean=p, seed=1)
    for site in range(2):
        shares = categorical.states[:, site].long().bincount(minlength=3) / size
        assert ((shares - p[site]).abs() < 4 * (p[site] * (1 - p[site]) / size)**0.5).all()
    slots, x = real.draw(100, reinit=0.5)
    real.write_back(slots, x.clamp(-0.5, 0.5))
    assert real.states[slots].abs().max() <= 0.5
    for arguments, words in (({"bounds": (1, 0), "sites": 2}, "the lower one first"),
                             ({"bounds": (0, 1)}, "bounds= goes with sites="),
                             ({}, "mean= or bounds= is needed"),
                             ({"mean": torch.tensor([[0.5, 0.6]])}, "with the sum 1"),
                             ({"mean": torch.zeros(2), "deviation": torch.zeros(2)},
                              "deviation= above 0")):
        with pytest.raises(ig.Error, match=words):
            ig.ReplayBuffer(5, **arguments)


@pytest.mark.parametrize("arguments", [{"mean": torch.full((4,), 0.3)},
                                       {"bounds": (0, 1), "sites": 4}])
def test_state_dicts_of_buffers(arguments):
    buffer = ig.ReplayBuffer(30, seed=2, **arguments)
    slots, x = buffer.draw(10)
    buffer.write_back(slots, x.flip(0))
    again = ig.ReplayBuffer(30, seed=7, **arguments)
    again.load_state_dict(saved(buffer.state_dict()))
    assert torch.equal(again.states, buffer.states)
    for one, other in zip(again.draw(12, reinit=0.5), buffer.draw(12, reinit=0.5), strict=True):
        assert torch.equal(one, other)
    with pytest.raises(ig.Error, match="the buffer holds"):
        ig.ReplayBuffer(29, **arguments).load_state_dict(buffer.state_dict())
    with pytest.raises(ig.Error, match="has no 'seed'"):
        again.load_state_dict({"states": buffer.states, "draws": 3})


TARGETS = {
    "gwg": lambda: ig.instance("ising-grid:side=4,coupling=0.3"),
    "lbj": lambda: ig.instance("ising-grid:side=4,coupling=0.3"),
    "hmc": lambda: ig.energy(Quadratic(4, -1.0, 1.0), sites=4, bounds=(0, 1)),
}


@pytest.mark.parametrize("name", TARGETS)
def test_state_dicts_of_chains(name):
    target = TARGETS[name]()
    options = {"damping": 0.5} if name == "hmc" else {"adapt": True} if name == "lbj" else {}
    sampler = ig.sampler(name, **options)
    state = sampler.burn_in(target, sampler.init(target, chains=6, seed=3), 20)
    sampler.steps(target, state, 5)
    kept = saved(state.state_dict())
    again = sampler.init(target, chains=6, seed=9)
    again.load_state_dict(kept)
    assert (again.steps, again.evaluations, again.scale) == (25, state.evaluations, state.scale)
    for one in (state, again):
        sampler.steps(target, one, 7)
    for field in ("x", "energy", "acceptance", "mean_acceptance"):
        assert torch.equal(getattr(again, field), getattr(state, field)), field
    before = again.x.clone()
    with pytest.raises(ig.Error, match="holds 'x' as Byte|holds 'x' as Float"):
        sampler.init(target, chains=5).load_state_dict(kept)
    with pytest.raises(ig.Error, match="has no 'energy'"):
        again.load_state_dict({key: value for key, value in kept.items() if key != "energy"})
    other = ig.sampler("hmc" if name == "hmc" else "gibbs")
    with pytest.raises(ig.Error, match="the state dict is that of"):
        other.init(target, chains=6).load_state_dict(kept)
    assert torch.equal(again.x, before)


def test_state_dicts_follow_changed_parameters():
    ising = ig.models.bernoulli(theta=torch.zeros(5))
    sampler = ig.sampler("gwg")
    kept = sampler.init(ising, chains=4, seed=1).state_dict()
    state = sampler.init(ising, chains=4)
    ising.parameters()["theta"].fill_(0.7)
    state.load_state_dict(kept)
    assert torch.allclose(state.energy, ising.energy(state.x).double())


def test_points_have_classes():
    points = torch.randn(300, 2)
    labels = (points[:, 0] > 0).long()
    options = {"objective": "classify", "iters": 3, "batch": 10, "warmup": 0}
    assert ig.train("mlp", points, labels=labels, **options).iteration == 3
    with pytest.raises(ig.Error, match="at most 1048576 are possible"):
        ig.train("mlp", points, labels=labels * 900_000_000, **options)
