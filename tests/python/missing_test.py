"""Training on incomplete data: NaN marks values that are missing."""
import math

import numpy
import pytest
import torch

import isinglass as ig
from conftest import Mlp, bars

NAN = float("nan")
FEW = dict(hidden=4, objective="cd", iters=3, batch=20, warmup=0, lr=0.01, steps_per_iter=1)


def with_holes(images, share=0.3, seed=1):
    """Returns the images as real numbers of which this share is missing."""
    generator = torch.Generator().manual_seed(seed)
    lost = torch.rand(images.shape, generator=generator) < share
    return images.float().masked_fill(lost, NAN)


def test_a_module_is_trained_on_them():
    fit = ig.train(Mlp(16), {"train": with_holes(bars(60))}, sampler="gwg", iters=4, batch=10,
                   buffer=20, steps_per_iter=2, warmup=0)
    assert fit.iteration == 4
    assert all(torch.isfinite(tensor).all() for tensor in fit.parameters.values())


@pytest.mark.parametrize("levels", [None, 3])
def test_a_resumed_run_gives_the_same_bits(tmp_path, levels):
    images = bars(60) if levels is None else torch.randint(0, 3, (60, 16))
    data = {"train": with_holes(images)}
    def run(iters, **out):
        return ig.train("rbm", data, levels=levels, **{**FEW, "iters": iters}, **out).parameters
    whole = run(12)
    run(5, out=tmp_path / "run")
    parts = run(12, out=tmp_path / "run")
    assert all(torch.equal(parts[name], tensor) for name, tensor in whole.items())


def test_files_and_arrays_give_the_same_bits(tmp_path):
    data = with_holes(bars(60))
    of_memory = ig.train("rbm", data, **FEW).parameters
    numpy.save(tmp_path / "x.npy", data.numpy())
    torch.save(data.half(), tmp_path / "x.pt")
    for other in (data.numpy(), data.tolist(), tmp_path / "x.npy", tmp_path / "x.pt"):
        found = ig.train("rbm", other, **FEW).parameters
        assert all(torch.equal(found[name], tensor) for name, tensor in of_memory.items())


def test_means_are_those_of_the_known_values():
    data = torch.tensor([[0.0, NAN], [1.0, 1.0], [NAN, 1.0]])
    assert torch.allclose(ig.base_mean(data), torch.tensor([0.5, 0.99]))
    grey = torch.tensor([[0.2, NAN], [1.0, 0.6]])
    assert torch.allclose(ig.base_mean(grey), torch.tensor([0.98 * 0.6 + 0.01] * 2))


def test_an_evaluation_takes_the_complete_splits():
    target = ig.models.bernoulli(theta=torch.zeros(16))
    part, test = with_holes(bars(60)), bars(20, seed=3)
    options = dict(sampler="gibbs", mean=torch.full((16,), 0.5), chains=10, steps=10)
    found = ig.evaluate(target, {"train": part, "test": test}, **options).log_likelihood
    assert list(found) == ["test"]
    assert found["test"]["forward"] == pytest.approx(-16 * math.log(2))


def test_the_missing_values_are_counted(tmp_path):
    part = bars(60).float()
    part[3, 5] = NAN
    fit = ig.train("rbm", part, out=tmp_path / "run", **FEW)
    note = ("the training images of the tensor lack 1 of their 960 values (NaN); missing values "
            "are sampled given the others")
    assert fit.notes == [note] and note in repr(fit)
    assert note in (tmp_path / "run" / "log.txt").read_text()
    assert ig.train("rbm", bars(60).float(), **FEW).notes == []


def test_missing_values_elsewhere_are_refused():
    part, target = with_holes(bars(60)), ig.models.bernoulli(theta=torch.zeros(16))
    incomplete = r"needs complete images, but \d+ of the 960 values of the training images"
    only = "not a number; only training images may have missing values"
    lost = torch.full((5, 16), NAN)
    for call, words in (
            (lambda: ig.train("rbm", {"train": bars(60), "test": part}, **FEW), only),
            (lambda: ig.train("rbm", {"train": bars(60), "validation": part}, **FEW), only),
            (lambda: ig.train("rbm", lost, **FEW), "every value of the tensor is not a number"),
            (lambda: ig.train("mlp", part, objective="dsm", iters=1), "may not be missing"),
            (lambda: ig.train("mlp", part.view(-1, 4, 4), objective="dsm", iters=1), incomplete),
            (lambda: ig.train("mlp", part.view(-1, 4, 4), objective="classify", iters=1,
                              labels=torch.zeros(60, dtype=torch.int64)), incomplete),
            (lambda: ig.evaluate(target, part, sampler="gibbs", chains=2, steps=2), incomplete),
            (lambda: ig.sample(target, "gibbs", data=part, init="data", chains=2, steps=1),
             incomplete),
            (lambda: ig.sample(target, "gibbs", data=part, inpaint="upper", chains=2, steps=1),
             incomplete)):
        with pytest.raises(ig.Error, match=words) as error:
            call()
        assert "\n" not in str(error.value)


def test_noise_contrastive_estimation_refuses_them():
    base = ig.models.rbm(W=torch.zeros(2, 16), b_v=torch.zeros(16), b_h=torch.zeros(2))
    target = ig.models.residual(base, Mlp(16), bound=2)
    with pytest.raises(ig.Error, match="objective= nce needs complete images"):
        ig.train(target, with_holes(bars(60)), objective="nce", iters=2, batch=10, warmup=0)
