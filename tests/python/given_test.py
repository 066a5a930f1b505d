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
    (lambda: ig.sample(ig.energy(Cubic(4), sites=4), "gwg", allowed=torch.full((4, 2), torch.nan)),
     "the table holds NaN; 0 forbids a value"),
    (lambda: ig.energy(Cubic(4), sites=4).given(allowed=[[1, 1], [torch.nan, 1], [1, 1], [1, 1]]),
     "the table holds NaN"),
    (lambda: ig.sample(ig.energy(Cubic(4), sites=4), init="data"), r'init="data" needs data='),
    (lambda: ig.sample(ig.energy(Cubic(4), sites=4), inpaint="lower"), "inpaint= needs data="),
    (lambda: ig.evaluate(ig.energy(Cubic(4), sites=4), inpaint="lower"), "inpaint= needs images="),
    (lambda: ig.sample(ig.energy(Cubic(4), sites=4), inpaint="middle", data=torch.ones(3, 4)),
     "inpaint= is 'middle', which is neither one of upper, lower, left, right, random nor a file"),
    (lambda: ig.sample(ig.energy(Cubic(4), sites=4), "gwg", seed=2**70),
     r"seed= is 1180591620717411303424; a whole number of at least 0, below 2\*\*63, is needed"),
    (lambda: ig.energy(Cubic(4), sites=4, device="gpu"),
     "device= is 'gpu'; cpu, cuda or cuda:N is needed"),
    (lambda: ig.ablate("no.toml"), "grid= is 'no.toml', and there is no such file"),
    (lambda: ig.ablate("sweeps"), "unknown preset 'sweeps'"),
    (lambda: ig.ablate(targets={"a": ig.energy(Cubic(4), sites=4)}, samplers=["gwgg"], steps=3),
     "^the grid: |unknown sampler"),
    (lambda: ig.instance("ising-grid:sdie=3"), r"unknown key 'sdie'; did you mean side\?"),
])
def test_likely_slips_have_a_sentence(call, words):
    with pytest.raises(ig.Error, match=words) as caught:
        call()
    assert "\n" not in str(caught.value) and "_isinglass" not in str(caught.value)
    assert "/tmp" not in str(caught.value)


@pytest.mark.parametrize("sites,options", [(4, {}), (4, {"anneal": "2,0.1", "burn_in": 20})])
def test_without_a_gradient_the_default_is_gibbs(sites, options):
    for energy in (Tokens(), lambda x: torch.from_numpy(x.numpy().sum(1))):
        target = ig.energy(energy, sites=sites)
        assert ig.sample(target, chains=4, steps=5, **options).summary["sampler"] == "gibbs"
        assert ig.evaluate(target, chains=12, steps=10).sampler == "gibbs"
    with_gradient = ig.energy(Cubic(sites), sites=sites)
    assert ig.sample(with_gradient, chains=4, steps=5).summary["sampler"] == "pafs"


def test_the_kind_of_ess_may_be_given_by_place():
    x = torch.randn(100, 4, generator=torch.Generator().manual_seed(1))
    assert ig.ess(x, "tail") == ig.ess(x, kind="tail") != ig.ess(x)


class Tokens(torch.nn.Module):
    """A module with parameters whose input is whole numbers, through which there is no gradient."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(2, 1)

    def forward(self, x):
        return self.table(x.long()).sum((1, 2))
