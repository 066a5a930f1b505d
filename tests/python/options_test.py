"""An option that a call would not use is refused, not silently ignored."""
import inspect

import numpy
import pytest
import torch

import isinglass as ig
from conftest import Cubic, Mlp, bars

TABLES = ig._tables.TABLES
# One value for each of the program's options that have no keyword.
VALUES = {"model": "rbm", "weights": "w.pt", "factors": "mlp=x.pt", "sites": 4, "categories": 2,
          "penalty": 3.0, "class_": 1, "image": (2, 2), "instance": "parity",
          "gradient_model": "mlp=x.pt", "dataset": "strokes", "netcdf": True, "grid": "g.toml",
          "preset": "parity", "sampler": "gwg", "init": "random"}


def call(name, **options):
    target = ig.energy(Cubic(4), sites=4)
    return {"sample": lambda: ig.sample(target, "gwg", steps=3, **options),
            "evaluate": lambda: ig.evaluate(target, sampler="gwg", chains=4, steps=3, **options),
            "train": lambda: ig.train(Mlp(16), bars(20), sampler="gwg", iters=1, batch=2, buffer=4,
                                      steps_per_iter=1, **options),
            "ablate": lambda: ig.ablate(targets={"mine": target}, samplers=["gwg"], steps=3,
                                        chains=2, **options),
            "load": lambda: ig.load("rbm", "rbm.pt", **options)}[name]()


@pytest.mark.parametrize("name", ["sample", "evaluate", "train", "ablate", "load"])
def test_what_the_signature_has_not_is_refused(name):
    known = inspect.signature(getattr(ig, name)).parameters
    table = TABLES["target" if name == "load" else name]
    left_out = [option["python"] for option in table if option["python"] not in known]
    assert left_out
    for option in [*left_out, "stepss"]:
        with pytest.raises(ig.Error,
                           match=f"^{name} has no option {option}=; ") as raised:
            call(name, **{option: VALUES.get(option, 1)})
        offered = str(raised.value).partition("did you mean ")[2].partition("=?")[0]
        # The options that the cells of a grid have in common are not in ablate's signature.
        assert offered not in left_out and (not offered or offered in known or name == "ablate")


def test_only_near_names_are_suggested():
    target = ig.instance("ising-grid:side=2")
    with pytest.raises(ig.Error, match=r"^sample has no option out=; help\(isinglass.sample\)"):
        ig.sample(target, "gwg", steps=2, out="runs")
    with pytest.raises(ig.Error, match=r"^sample has no option chain=; did you mean chains=\?"):
        ig.sample(target, "gwg", steps=2, chain=3)


IDLE = {
    'data= applies to inpaint= and to chains that start with init="data"; init= is not given':
        lambda t: ig.sample(t, "gwg", steps=3, data=bars(20)),
    'data= applies to inpaint= and to chains that start with init="data"; init= is another':
        lambda t: ig.sample(t, "gwg", steps=3, init="random", data=bars(20)),
    "levels= applies to images, and data= is not given": lambda t:
        ig.sample(t, "gwg", steps=3, levels=4),
    "levels= applies to images, and there are none": lambda t: ig.evaluate(t, steps=3, levels=4),
    "validation= applies to images, and there are none":
        lambda t: ig.evaluate(t, steps=3, validation="none.pt"),
    "images= would have no effect, because ising-grid:side=2 is not made of images":
        lambda t: ig.instance("ising-grid:side=2", images=torch.rand(3, 4)),
    "data_dir= is the folder of a data set by name, and data= is not a name":
        lambda t: ig.sample(t, "gwg", steps=3, init="data", data=bars(20), data_dir="x"),
    "data_dir= is the folder of a data set by name, and images= is not a name":
        lambda t: ig.evaluate(t, bars(20), steps=3, data_dir="x"),
    "data_dir= is the folder of a data set by name, and the data are in memory":
        lambda t: ig.train(Mlp(16), bars(20), data_dir="x"),
    "hidden= applies to a model by name only; a target or module has its own": lambda t:
        ig.train(Mlp(16), bars(20), hidden=4),
    "base= applies to a model by name only; a target or module has its own": lambda t:
        ig.train(t, bars(20), base=False),
    "weights= applies to a model by name only; a target or module has its own": lambda t:
        ig.train(t, bars(20), weights="w.pt"),
    "device= applies to a model by name only; a target or module has its own": lambda t:
        ig.train(t, bars(20), device="cuda"),
    'labels= applies to images in memory with objective="classify" only':
        lambda t: ig.train("mlp", bars(20), labels=torch.zeros(20, dtype=torch.int64)),
    "the seed= of <isinglass.Sampler gwg> would have no effect":
        lambda t: ig.ablate(targets={"a": t}, samplers=[ig.sampler("gwg", seed=3)], steps=3),
    "device= applies to a grid by name or file; targets have their own":
        lambda t: ig.ablate(targets={"a": t}, samplers=["gwg"], steps=3, device="cuda"),
    "weights= applies to a grid by name or file, which trains models":
        lambda t: ig.ablate(targets={"a": t}, samplers=["gwg"], steps=3, weights="w.pt"),
    'dataset= applies to chains that start with init="data", and init= is not "data"':
        lambda t: ig.ablate(targets={"a": t}, samplers=["gwg"], steps=3, dataset="strokes"),
    "ablate has no option moves=; ": lambda t:
        ig.ablate(targets={"a": t}, samplers=["gwg"], steps=3, moves=True),
    "ablate has no option steps=; ": lambda t: ig.ablate("parity", steps=3),
    "a grid by name or file has its own title, targets, samplers and claims, so that "
    "none can be given":
        lambda t: ig.ablate("parity", title="x"),
}


@pytest.mark.parametrize("words", IDLE)
def test_what_would_have_no_effect_is_refused(words):
    target = ig.energy(Cubic(16), sites=16)
    with pytest.raises(ig.Error) as raised:
        IDLE[words](target)
    assert words in str(raised.value) and "\n" not in str(raised.value)


def test_the_seed_of_a_sampler_counts(ising):
    options = {"chains": 3, "steps": 4}

    def draws(sampler, **more):
        return ig.sample(ising, sampler, **options, **more).samples

    assert torch.equal(draws(ig.sampler("gwg", seed=5)), draws("gwg", seed=5))
    assert not torch.equal(draws(ig.sampler("gwg", seed=5)), draws(ig.sampler("gwg", seed=6)))
    assert torch.equal(draws(ig.sampler("gwg", seed=5), seed=6), draws("gwg", seed=6))
    assert torch.equal(draws(ig.sampler("gwg")), draws("gwg"))
    found = [ig.evaluate(ising, sampler=sampler, chains=3, steps=5, **more).log_z
             for sampler, more in ((ig.sampler("gwg", seed=5), {}), ("gwg", {"seed": 5}),
                                   ("gwg", {}))]
    assert found[0] == found[1] != found[2]
    trained = [ig.train("rbm", bars(20), sampler=sampler, iters=2, batch=2, buffer=4,
                        steps_per_iter=1, hidden=2, **more).parameters["W"]
               for sampler, more in ((ig.sampler("gwg", seed=5), {}), ("gwg", {"seed": 5}),
                                     ("gwg", {}))]
    assert torch.equal(trained[0], trained[1]) and not torch.equal(trained[0], trained[2])


def test_data_by_name_are_found_in_data_dir(tmp_path):
    with pytest.raises(ig.Error, match=str(tmp_path)):
        ig.evaluate(ig.energy(Cubic(4), sites=4), "mnist", steps=3, data_dir=tmp_path)
    with pytest.raises(ig.Error, match=str(tmp_path)):
        ig.sample(ig.energy(Cubic(4), sites=4), "gwg", steps=3, init="data", data="mnist",
                  data_dir=tmp_path)


def test_chains_of_a_grid_begin_at_data(tmp_path):
    torch.save(bars(30), tmp_path / "bars.pt")
    grid = ig.ablate(targets={"mine": ig.energy(Mlp(16), sites=16)}, samplers=["gwg"], steps=3,
                     chains=2, init="data", dataset=tmp_path / "bars.pt")
    assert (grid.frame.status == "done").all(), grid.frame.error


def test_a_folder_of_a_presets_name_is_no_grid(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nothing").mkdir()
    with pytest.raises(ig.Error, match="preset"):
        ig.ablate("nothing")
    with pytest.raises(ig.Error, match="nothing.toml"):
        ig.ablate(tmp_path / "nothing.toml")


def test_values_of_a_grid_are_toml(tmp_path):
    toml = ig._ablation._toml
    for value, text in (
            (True, "true"), (3, "3"), (2.5, "2.5"), (float("inf"), "inf"), (float("nan"), "nan"),
            (numpy.int64(4), "4"), (numpy.float64(0.5), "0.5"), (torch.tensor(3), "3"),
            ([1, "a"], '[1, "a"]'), ("é\x7f\"", '"é\\u007f\\""'), (tmp_path, f'"{tmp_path}"'),
            ({"a b": 1}, '{"a b" = 1}')):
        assert toml(value) == text
    with pytest.raises(ig.Error, match="a grid holds <object .*>; only strings, numbers, True, "
                                       "False and lists of them"):
        toml(object())
    target = ig.energy(Cubic(4), sites=4)
    for wrong in (float("inf"), float("nan"), {"a": 1}):
        with pytest.raises(ig.Error, match="radius"):
            ig.ablate(targets={"a": target}, samplers=[{"sampler": "pafs", "radius": wrong}],
                      steps=3)
