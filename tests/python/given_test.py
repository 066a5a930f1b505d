"""Arguments given as a state or a target: unambiguous ones are accepted, and the most likely
mistakes have an error message of one sentence.
"""
import pytest
import torch

import isinglass as ig
from conftest import Cubic, states_of


def test_states_of_other_kinds_are_taken_where_they_are_clear():
    """Arrays, lists, truth values and whole numbers of any type are accepted as states; real
    numbers in float64 become float32.
    """
    target, sampler = ig.energy(Cubic(4), sites=4), ig.sampler("gwg")
    x = states_of(4)[5:9]
    expected = sampler.run(target, x, steps=3, seed=1).x
    for same in (x.numpy(), x.tolist(), x.bool(), x.long(), x.numpy().astype("int32")):
        assert torch.equal(sampler.run(target, same, steps=3, seed=1).x, expected)
        assert torch.equal(target.energy(same), target.energy(x))
        assert torch.equal(
            ig.sample(target, "gwg", init=same, chains=4, steps=3, seed=1).samples[-1], expected)
    assert target.energy(x.double()).dtype == torch.float32
    gaussian = ig.models.gaussian(mean=torch.zeros(3), precision=torch.ones(3))
    points = torch.randn(5, 3, dtype=torch.float64)
    assert torch.equal(gaussian.energy(points), gaussian.energy(points.float()))
    assert sampler_state(gaussian, points.numpy()).dtype == torch.float32
    permutation = ig.models.permutation(w=torch.randn(3, 3))
    assert permutation.energy([[0, 2, 1]]).shape == (1,)


def sampler_state(target, x):
    return ig.sampler("mala").init(target, x).x


def test_gradients_of_relaxed_states():
    """Any target has gradients at relaxed states: autograd gives them if the samplers' own
    arithmetic is for whole states only.
    """
    for target in (ig.instance("ising-grid:side=2,coupling=0.3"), ig.energy(Cubic(4), sites=4),
                   ig.models.rbm(W=torch.randn(5, 4), b_v=torch.zeros(4), b_h=torch.zeros(5))):
        x = torch.rand(3, 4)
        energy, gradient = target.energy_and_grad(x)
        relaxed = x.clone().requires_grad_(True)
        wanted, = torch.autograd.grad(target.energy(relaxed).sum(), relaxed)
        assert (torch.allclose(gradient, wanted.float()) and
                torch.allclose(energy, target.energy(x).double()))


@pytest.mark.parametrize("call,words", [
    (lambda: ig.sample(Cubic(4), "gwg", steps=3),
     r"Cubic'> is not a target; isinglass\.energy\(…, sites=D\) makes one"),
    (lambda: ig.evaluate(lambda x: x.sum(1), steps=3), "is not a target"),
    (lambda: ig.sampler("gwg").init(Cubic(4)), "is not a target"),
    (lambda: ig.sampler("gwg").run(None, steps=3), "is not a target"),
    (lambda: ig.ablate(targets={"a": Cubic(4)}, samplers=["gwg"], steps=3),
     r"targets\['a'\] is of type Cubic"),
    (lambda: ig.energy(Cubic(4), sites=4).energy("text"), "the states are of type str"),
    (lambda: ig.energy(Cubic(4), sites=4).energy([[0, 1, -1, 0]]), "the states hold the value -1"),
    (lambda: ig.energy(Cubic(4), sites=4).energy([[0, 1, 300, 0]]),
     "the states hold the value 300"),
    (lambda: ig.energy(Cubic(4), sites=4).energy([[0, 1, 5, 0]]), "hold the value 5"),
    (lambda: ig.instance("image-gaussian", images=torch.full((3, 4), torch.nan)),
     "every value of images is not a number"),
    (lambda: ig.instance("image-gaussian", images=torch.tensor([[0.5, torch.nan], [1, 0]])),
     "needs complete images"),
    (lambda: ig.instance("image-gaussian", images=16 * torch.rand(3, 4)),
     "images holds values outside"),
    (lambda: ig.instance("image-gaussian", images=[[0, 3], [15, 2]]),
     "images holds whole numbers up to 15"),
    (lambda: ig.sampler("gwg", radiu=3),
     "gwg has no option radiu=; it knows: radius, adapt, balancing"),
    (lambda: ig.energy(Cubic(4), sites=8.0), r"sites= is 8\.0; a whole number"),
    (lambda: ig.energy(Cubic(4), sites=True), "sites= is True; a whole number"),
    (lambda: ig.sampler("gwg").init(ig.energy(Tokens(), sites=4), chains=3),
     "the energies of energy Tokens do not depend on the states by differentiable operations"),
])
def test_likely_slips_have_a_sentence(call, words):
    with pytest.raises(ig.Error, match=words) as caught:
        call()
    assert "\n" not in str(caught.value) and "_isinglass" not in str(caught.value)


class Tokens(torch.nn.Module):
    """A module with parameters whose input is whole numbers, through which there is no gradient."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(2, 1)

    def forward(self, x):
        return self.table(x.long()).sum((1, 2))
