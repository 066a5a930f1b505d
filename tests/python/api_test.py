"""The package's interface: models from tensors, signatures, errors, results, replay buffers and
loops.
"""
import inspect
import json
import pickle
import re
import warnings

import pytest
import torch

import isinglass as ig
from conftest import Cubic, Mlp, bars, states_of

TABLES = ig._tables.TABLES


def python_name(option):
    return "class_" if option == "class" else option.replace("-", "_")


def test_signatures_are_those_of_the_list(program):
    listing = json.loads(program("sample", "--list", "--json"))
    assert ({python_name(s["name"]) for s in listing["samplers"]} ==
            set(ig.samplers.__all__) - {"sampler"})
    assert {python_name(m["name"]) for m in listing["models"]} == set(ig.models.__all__)
    general = inspect.signature(ig.sampler).parameters
    for sampler in listing["samplers"]:
        found = inspect.signature(getattr(ig.samplers, python_name(sampler["name"]))).parameters
        assert set(found) == {python_name(name) for name in sampler["options"]} | {"seed"}
        for name, use in sampler["options"].items():
            assert python_name(name) in general
            if "default" in use:
                assert found[python_name(name)].default == use["default"]
            if "to" in use:
                assert f"{use['to']:g}" in getattr(ig.samplers,
                                                   python_name(sampler["name"])).__doc__


@pytest.mark.parametrize("function,command",
                         [(ig.sample, "sample"), (ig.train, "train"), (ig.evaluate, "evaluate"),
                          (ig.ablate, "ablate")])
def test_options_are_those_of_the_program(function, command, program):
    """Every flag of the program is a keyword here, except those that have an argument of another
    name.
    """
    text = program(command, "--help")
    flags = {python_name(flag) for flag in re.findall(r"^  --([a-z0-9-]+)", text, re.MULTILINE)}
    known = set(inspect.signature(function).parameters)
    replaced = {"sample":
                    {"model", "weights", "factors", "sites", "categories", "penalty", "class_",
                     "image", "instance", "temperature", "bounds", "gradient_model", "dataset",
                     "netcdf", "list", "checkpoint_every", "resume"},
                "train": {"dataset", "resume", "preset", "max_time"},
                "evaluate": {"model", "instance", "weights", "factors", "sites", "categories",
                             "penalty", "class_", "image", "temperature", "bounds", "dataset",
                             "resume"},
                "ablate": {"preset", "resume"}}[command]
    of_program = {"help", "config", "device", "threads", "quiet", "json", "out", "overwrite",
                  "tensorboard"}
    assert flags - known - of_program == replaced


MODELS = {
    "bernoulli": {"theta": torch.randn(4)},
    "categorical": {"theta": torch.randn(4, 3)},
    "ising": {"edges": torch.tensor([[0, 1], [1, 2]]), "coupling": torch.randn(2),
              "field": torch.randn(3)},
    "potts": {"edges": torch.tensor([[0, 1], [1, 2]]), "coupling": torch.randn(2),
              "field": torch.randn(3, 3)},
    "rbm": {"W": torch.randn(5, 4), "b_v": torch.randn(4), "b_h": torch.randn(5)},
    "fhmm": {"y": torch.randn(3), "W": torch.randn(2, 2), "b": torch.tensor(0.1),
             "sigma": torch.tensor(0.7), "p_init": torch.tensor(0.4), "p_stay": torch.tensor(0.8)},
    "logistic": {"X": torch.randn(6, 4), "y": torch.tensor([0.0, 1, 1, 0, 1, 0])},
    "lattice-gaussian": {"precision": torch.eye(3) * 0.4, "mean": torch.ones(3)},
    "quartic-mixture":
        {"centers": torch.rand(2, 3) * 4, "scale": torch.ones(3), "rotation": torch.eye(3)},
    "parity": {"u": torch.tensor(0.7)},
    "permutation": {"w": torch.randn(4, 4)},
    "gaussian": {"mean": torch.randn(3), "precision": torch.tensor([1.0, 2, 3])},
    "gaussian-mixture": {"weights": torch.tensor([0.25, 0.75]), "means": torch.randn(2, 3),
                         "precision": torch.rand(2, 3) + 0.5},
}
MORE = {"lattice-gaussian": {"categories": 4}, "quartic-mixture": {"categories": 5},
        "parity": {"sites": 5}}


@pytest.mark.parametrize("name", MODELS)
def test_models_from_tensors_are_those_from_files(name, tmp_path):
    torch.save(MODELS[name], tmp_path / "model.pt")
    more = MORE.get(name, {})
    ours = getattr(ig.models, python_name(name))(**MODELS[name], **more)
    theirs = ig.load(name, tmp_path / "model.pt", **more)
    x = ours.random_states(20, seed=1)
    assert (ours.sites == theirs.sites and ours.categories == theirs.categories and
            ours.states == theirs.states)
    assert torch.equal(ours.energy(x), theirs.energy(x))
    if ours.differentiable:
        for one, other in zip(ours.energy_and_grad(x), theirs.energy_and_grad(x), strict=True):
            assert torch.equal(one, other)


@pytest.mark.parametrize("number", [0.4406867935097715, 16777217.0, 1e-50])
def test_numbers_of_64_bits_stay_so(number, tmp_path):
    edges, pair = torch.tensor([[0, 1]]), torch.tensor([[0, 1]], dtype=torch.uint8)
    weight = torch.tensor([number], dtype=torch.float64)
    (tmp_path / "graph").write_text(f"0 1 {number!r}\n")
    assert ig.load("maxcut", tmp_path / "graph").energy(pair).item() == -number
    for given in (weight, weight.numpy(), [number]):
        assert ig.models.maxcut(edges=edges, weight=given).energy(pair).item() == -number
        ising = ig.models.ising(edges=edges, coupling=given, field=torch.zeros(2))
        assert ising.energy(pair).item() == number
    assert ig.models.parity(u=number, sites=2).energy(pair).item() == number


def test_whole_numbers_are_parameters():
    y = torch.tensor([0, 1, 1])
    x, beta = torch.tensor([[1, 2], [0, 1], [3, 1]]), states_of(2)
    assert torch.equal(ig.models.logistic(X=x, y=y).energy(beta),
                       ig.models.logistic(X=x.float(), y=y.float()).energy(beta))
    assert torch.equal(ig.models.logistic(X=x, y=y.bool()).energy(beta),
                       ig.models.logistic(X=x, y=y).energy(beta))
    with pytest.raises(ig.Error,
                       match=r"labels -1 and 1; it must hold 0 and 1, which are \(y \+ 1\) / 2"):
        ig.models.logistic(X=x, y=2 * y - 1)


def test_graphs_networks_and_products(tmp_path):
    edges = torch.tensor([[1, 0], [1, 2], [3, 2], [0, 3], [0, 2]])
    (tmp_path / "graph").write_text("0 1 2\n1 2 1\n2 3 1\n0 3 1\n0 2 1\n")
    weight = torch.tensor([2.0, 1, 1, 1, 1])
    x = states_of(4)
    assert torch.equal(ig.models.maxcut(edges=edges, weight=weight).energy(x),
                       ig.load("maxcut", tmp_path / "graph").energy(x))
    assert torch.equal(ig.models.mis(edges=edges, penalty=2.0).energy(x),
                       ig.load("mis", tmp_path / "graph", penalty=2.0).energy(x))
    assert torch.equal(ig.models.maxclique(edges=edges).energy(x),
                       ig.load("maxclique", tmp_path / "graph").energy(x))
    assert ig.models.maxcut(edges=edges, sites=6).sites == 6
    with pytest.raises(ig.Error, match="edge 1 2 twice"):
        ig.models.maxcut(edges=torch.tensor([[1, 2], [2, 1]]))
    module = torch.nn.Sequential(torch.nn.Linear(6, 256), torch.nn.SiLU(),
                                 torch.nn.Linear(256, 256), torch.nn.SiLU(),
                                 torch.nn.Linear(256, 256), torch.nn.SiLU(),
                                 torch.nn.Linear(256, 1))
    mlp = ig.models.mlp(module)
    assert torch.allclose(mlp.energy(states_of(6)), -module(states_of(6).float())[:, 0], atol=1e-5)
    gaussian = ig.models.gaussian(mean=torch.zeros(6), precision=torch.ones(6))
    product = ig.models.product([gaussian, ig.models.mlp(module.state_dict(), continuous=True)])
    point = torch.randn(5, 6)
    assert torch.allclose(product.energy(point), gaussian.energy(point) - module(point)[:, 0],
                          atol=1e-5)
    misled = gaussian.with_gradient_of(product)
    assert torch.equal(misled.energy(point), gaussian.energy(point))
    assert torch.equal(misled.energy_and_grad(point)[1], product.energy_and_grad(point)[1])


def test_targets_have_a_temperature(ising):
    """Energies are U / T, and each state's frequency is within five standard errors of exp(-U / T)
    / Z."""
    with pytest.raises(ig.Error, match="temperature"):
        ising.at_temperature(0)
    torch.manual_seed(2)
    cubic = ig.energy(lambda x: (x @ torch.tensor([1.0, -2.0, 0.5])) ** 3 / 4, sites=3)
    for target, temperature in ((cubic, 3.0), (cubic.at_temperature(2), 1.5)):
        x = states_of(3)
        hot = target.at_temperature(temperature)
        assert torch.allclose(hot.energy(x), target.energy(x).double() / temperature)
        chains = 4000
        run = ig.sample(hot, "gwg", chains=chains, burn_in=60, steps=1, seed=5)
        found = (run.samples[-1].long() * torch.tensor([4, 2, 1])).sum(1)
        order = (x.long() * torch.tensor([4, 2, 1])).sum(1)
        p = torch.softmax(-target.energy(x).double() / temperature, 0)
        share = torch.bincount(found, minlength=8)[order] / chains
        assert ((share - p).abs() / (p * (1 - p) / chains).sqrt()).max() < 5


@pytest.mark.parametrize("run", [{}, {"anneal": (3, 1)}, {"rungs": 3}], ids=str)
def test_recorded_energies_are_those_at_temperature_one(ising, run):
    torch.manual_seed(2)
    cubic = ig.energy(lambda x: (x @ torch.tensor([1.0, -2.0, 0.5])) ** 3 / 4, sites=3)
    rbm = ig.models.rbm(W=torch.randn(4, 3), b_v=torch.randn(3), b_h=torch.randn(4))
    for target in (ising, cubic, rbm):
        for sampler in ("gibbs", "pafs"):
            draws = ig.sample(target.at_temperature(2.0), sampler, chains=5, burn_in=40, steps=30,
                              seed=3, **run)
            expected = target.energy(draws.samples.flatten(0, 1)).detach().double()
            assert torch.allclose(draws.energy.flatten(), expected, rtol=1e-5, atol=1e-5)


def test_sampler_and_steps_have_defaults(ising):
    run = ig.sample(ising, chains=3)
    assert run.summary["sampler"] == "gibbs" and run.summary["steps"] == 1000
    normal = ig.models.gaussian(mean=torch.zeros(3), precision=torch.ones(3))
    assert ig.sample(normal, chains=3, steps=5).summary["sampler"] == "hmc"
    order = ig.models.permutation(w=torch.zeros(3, 3))
    assert ig.sample(order, chains=3, steps=5).summary["sampler"] == "lb"


def test_errors_speak_python(ising):
    for call, words in {
        lambda: ig.sample(ising, "pafs", radius=0, steps=3): r"radius= is 0",
        lambda: ig.sample(ising, "pafs", radius="five", steps=3): r"radius= is 'five'; a number",
        lambda: ig.sample(ising, "pafs", stepss=3):
            r"sample has no option stepss=; did you mean steps=\? help\(isinglass.sample\) lists",
        lambda: ig.sample(ising, "gwg", scan="random", steps=3): r"scan= is not an option of gwg",
        lambda: ig.sample(ising, "gwg", steps=3, burn_in=1.5): r"burn_in= is 1.5; a whole number",
        lambda: ig.sample(ising, "gwg", steps=3, thin=5):
            r"thin= is 5, .* at most steps=, which is 3",
        lambda: ig.sample(ising, "nope", steps=3): r"unknown sampler 'nope'; known:",
        lambda: ig.sampler("gwg", scan="random"): r"scan= is not an option of gwg",
        lambda: ig.sampler("pafs", target_acceptance=2): r"target_acceptance= is 2",
        lambda: ig.sampler("nope"): r"unknown sampler 'nope'",
        lambda: ig.models.ising(edges=torch.tensor([[0, 5]]), coupling=torch.ones(1),
                                field=torch.ones(3)):
            r"the parameters: tensor 'edges' names a site outside 0 to 2",
        lambda: ig.models.ising(field=torch.ones(3)): r"missing a required argument: 'edges'",
        lambda: ig.load("mlp", "missing.pt"): r"missing\.pt",
        lambda: ig.load("mlpp", "missing.pt"): r"unknown model 'mlpp'; known: mlp",
        lambda: ig.instance("ising-grid:side=1"): r"side",
        lambda: ig.train("rbm", bars(), sampler="gwg", batch=0): r"batch= is 0",
        lambda: ig.train("rbm", torch.rand(3, 4) - 1, sampler="gwg"):
            r"the tensor holds values outside \[0, 1\]",
        lambda: ig.evaluate(ising, chains=4, steps=0): r"steps= is 0",
    }.items():
        try:
            call()
        except ig.Error as raised:
            error = raised
        else:
            pytest.fail(f"nothing was raised: {words}")
        assert re.search(words, str(error)), (words, str(error))
        assert "--" not in str(error) and "`" not in str(error) and "\n" not in str(error), error
    assert issubclass(ig.Error, ValueError) and issubclass(ig.NumericalError, ig.Error)


def test_one_persistent_chain_is_the_trainers(tmp_path):
    """A user's own loop with the trainer's random numbers moves the chains as the trainer does."""
    images = bars(60)
    mean = ig.base_mean(images)
    buffer = ig.ReplayBuffer(40, mean=mean, seed=3)
    assert len(buffer) == 40 and buffer.states.shape == (40, 16)
    slots, x = buffer.draw(10)
    assert torch.equal(x, buffer.states[slots]) and slots.unique().numel() == 10
    buffer.write_back(slots, 1 - x)
    assert torch.equal(buffer.states[slots], 1 - x)
    again = ig.ReplayBuffer(40, mean=mean, seed=3)
    assert torch.equal(again.draw(10)[0], slots)
    with pytest.raises(ig.Error, match="count= is 41; a number from 1 to 40"):
        buffer.draw(41)
    with pytest.raises(ig.Error, match="mean= must be"):
        ig.ReplayBuffer(4, mean=torch.zeros(3))


def test_pcd_in_ten_lines():
    """Learns independent sites: a linear energy finds the logits of the data's means."""
    torch.manual_seed(0)
    means = torch.tensor([0.2, 0.5, 0.8, 0.6])
    data = (torch.rand(4000, 4) < means).to(torch.uint8)
    module = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Flatten(0))
    target, sampler = ig.energy(module, sites=4), ig.sampler("gwg")
    optimiser = torch.optim.Adam(module.parameters(), lr=0.02)
    buffer = ig.ReplayBuffer(1000, mean=ig.base_mean(data), seed=0)
    for _ in range(300):
        slots, x = buffer.draw(200)
        x = sampler.run(target, x, steps=8).x
        batch = data[torch.randint(len(data), (200,))].float()
        loss = module(batch).mean() - module(x.float()).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        buffer.write_back(slots, x)
    learned = torch.sigmoid(-module[0].weight[0]).detach()
    assert (learned - data.float().mean(0)).abs().max() < 0.06  # Adam's fluctuation at this rate


def test_training_a_module_in_place():
    images = bars(300)
    module = Mlp(16)
    before = [parameter.detach().clone() for parameter in module.parameters()]
    calls = []
    fit = ig.train(module, images, sampler="gwg", iters=150, batch=50, buffer=200, steps_per_iter=5,
                   lr=3e-3, warmup=0, ema=0.9, seed=1, callback=calls.append)
    assert len(calls) == len(fit.metrics) == 150 and fit.iteration == 150 and not fit.interrupted
    assert any((one != other).any() for one, other in zip(before, module.parameters(), strict=True))
    assert set(fit.parameters) == set(module.state_dict())
    noise = torch.randint(0, 2, (300, 16)).float()
    assert module(images.float()).mean() < module(noise).mean() - 1  # data have the lower energy
    module.load_state_dict(fit.parameters)
    assert list(fit.frame.columns)[:2] == ["energy_data", "energy_model"] and len(fit.frame) == 150


def test_score_matching_and_classes():
    points = torch.randn(500, 2) * 0.1 + 1
    fit = ig.train("mlp", points, objective="dsm", iters=60, batch=50, warmup=0, lr=1e-3, noise=0.1)
    assert fit.target.states == "continuous"
    images = bars(200)
    labels = images.reshape(200, 4, 4)[:, 0, 0].long()  # whether the first column is a bar
    fit = ig.train("mlp", {"train": images}, objective="classify", labels=labels, iters=80,
                   batch=50, warmup=0, lr=1e-3, ema=0.9)
    module = torch.nn.Sequential(torch.nn.Linear(16, 256), torch.nn.SiLU(),
                                 torch.nn.Linear(256, 256), torch.nn.SiLU(),
                                 torch.nn.Linear(256, 256), torch.nn.SiLU(),
                                 torch.nn.Linear(256, 2))
    module.load_state_dict(fit.parameters)
    assert (module(images.float()).argmax(1) == labels).float().mean() > 0.95


def test_random_numbers_of_starts_without_a_seed(ising):
    sampler = ig.sampler("gwg", seed=4)
    first, second = (sampler.run(ising, steps=5, chains=6).x for _ in range(2))
    assert not torch.equal(first, second)
    again = ig.sampler("gwg", seed=4)
    assert torch.equal(again.run(ising, steps=5, chains=6).x, first)
    assert torch.equal(again.run(ising, steps=5, chains=6).x, second)
    assert torch.equal(ig.sampler("gwg").run(ising, steps=5, chains=6, seed=4).x, first)


def test_chain_ids_and_steps_decide_the_draws(ising):
    sampler = ig.sampler("gwg")
    x = ising.random_states(6, seed=1)
    whole = sampler.run(ising, x, steps=8, seed=2).x
    parts = [sampler.run(ising, x[rows], steps=8, seed=2, chain_ids=torch.tensor(rows)).x
             for rows in ([0, 1, 2], [3, 4, 5])]
    assert torch.equal(torch.cat(parts), whole)
    half = sampler.run(ising, x, steps=4, seed=2).x
    assert torch.equal(sampler.run(ising, half, steps=4, seed=2, step=4).x, whole)


def test_numbers_of_steps_end(ising):
    sampler = ig.sampler("gwg")
    state = sampler.init(ising, chains=2, seed=1, step=2**32 - 3)
    sampler.steps(ising, state, 2)
    assert torch.equal(pickle.loads(pickle.dumps(state)).x, state.x)
    for own in (state, pickle.loads(pickle.dumps(state))):
        for many in (sampler.steps, sampler.burn_in):
            with pytest.raises(ig.Error, match="steps= is 2; 1 are left"):
                many(own.target, own, 2)
        sampler.step(own.target, own)
        with pytest.raises(ig.Error, match="steps= is 1; 0 are left"):
            sampler.step(own.target, own)
    for step in (-1, 2**32):
        with pytest.raises(ig.Error, match=f"step= is {step}; 0 to 4294967295 are possible"):
            sampler.init(ising, chains=2, step=step)


def test_adaptation_step_by_step(ising):
    sampler = ig.sampler("lbj", adapt=True)
    state = sampler.init(ising, chains=20, seed=1)
    before = state.scale["tau"]
    sampler.burn_in(ising, state, 60)
    assert state.scale["tau"] != before
    run = ig.sample(ising, sampler, chains=20, burn_in=60, steps=1, seed=1)
    assert run.summary["adapted"]["tau"] == state.scale["tau"]


def test_results_read_well(ising):
    run = ig.sample(ising, "pafs", radius=3, chains=8, steps=20)
    assert "pafs on ising" in repr(run) and "acceptance" in repr(run)
    assert run._repr_html_().startswith("<table>") and "R-hat" in run._repr_html_()
    evaluation = ig.evaluate(ising, sampler="gwg", chains=4, steps=10)
    assert "log_z" in repr(evaluation) and "log_z" in dir(evaluation)
    assert repr(ising) == "<isinglass.Target ising: 16 binary sites, on cpu>"
    assert repr(ig.sampler("pafs", radius=3)) == "<isinglass.Sampler pafs, radius=3>"
    with pytest.warns(UserWarning, match="adapt="):
        ig.sample(ising, "lbj", adapt=True, chains=4, steps=4)


def test_help_reads_like_the_table():
    for sampler in TABLES["samplers"]:
        assert f"    {sampler['name']}: {sampler['summary'][:20]}" in ig.sampler.__doc__
    for name in ig.__all__:
        assert inspect.getdoc(getattr(ig, name)), name


def test_warnings_of_readers_are_pythons(tmp_path):
    (tmp_path / "net.uai").write_text("BAYES\n1\n2\n1\n1 0\n2\n0.0 1.0\n")
    with pytest.warns(UserWarning, match="net.uai: .* counts as 1e-30"):
        ig.load("bayesnet", tmp_path / "net.uai")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="counts as 1e-30"):
            ig.load("bayesnet", tmp_path / "net.uai")


def test_ablation(tmp_path):
    target = ig.energy(Cubic(6), sites=6)
    options = {"targets": {"mine": target},
               "samplers": ["gwg", {"sampler": "pafs", "radius": [2, 3]}], "repeats": 2,
               "steps": 40, "chains": 8, "burn_in": 10}
    claim = {"text": "gwg accepts more", "rule": "beats", "metric": "acceptance", "who": ["gwg"],
             "than": ["pafs"]}
    with pytest.warns(UserWarning, match="^repeats= is 2; only 1 of them would judge, and 3 are "
                                         "needed, so that the claim 'gwg accepts more' will be"):
        grid = ig.ablate(**options, out=tmp_path / "grid", claims=[claim])
    frame = grid.frame
    assert len(frame) == 6 and (frame.status == "done").all() and set(frame.model) == {"mine"}
    assert grid.report(tmp_path / "page.html") and "<html" in (tmp_path / "page.html").read_text()
    assert grid.results["claims"][0]["verdict"]
    single = ig.sample(target, "gwg", steps=40, chains=8, burn_in=10, seed=0)
    assert frame[(frame.sampler == "gwg") & (frame.repeat == 0)].acceptance.item() == pytest.approx(
        single.summary["acceptance"])
    again = ig.ablate(**options, out=tmp_path / "grid")
    assert again.frame.ess_mean.equals(frame.ess_mean) if "ess_mean" in frame else True
    broken = ig.ablate(targets={"bad": ig.energy(lambda x: x.sum(1) / 0, sites=3)},
                       samplers=["gwg"], steps=4)
    assert "not a number" in broken.frame.error[0]


def test_ablate_tells_what_is_not_exact_and_leaves_other_runs_alone(tmp_path):
    module = torch.nn.Sequential(torch.nn.Linear(6, 1), torch.nn.Dropout(0.5),
                                 torch.nn.Flatten(0)).train()
    target = ig.energy(module, sites=6)
    with pytest.warns(UserWarning, match="differ between two calls of the same states"):
        ig.ablate(targets={"a": target}, samplers=["gwg"], chains=4, steps=10)
    module.eval()
    run = ig.sample(target, "gwg", chains=4, steps=10)
    run.save(tmp_path / "run")
    ig.train("rbm", torch.ones(30, 6), iters=1, batch=10, buffer=10, out=tmp_path / "fit")
    for name in ("run", "fit"):
        before = sorted((tmp_path / name).iterdir())
        with pytest.raises(ig.Error, match="another kind of run; give another directory"):
            ig.ablate(targets={"a": target}, samplers=["gwg"], chains=4, steps=10,
                      out=tmp_path / name)
        assert sorted((tmp_path / name).iterdir()) == before


def test_ablate_passes_on_what_a_callable_raises(tmp_path):
    def wrong(x):
        raise LookupError("mine")

    targets = {"a good one": ig.energy(Mlp(3), sites=3), "bad": ig.energy(wrong, sites=3)}
    with pytest.raises(LookupError, match="^'?mine'?$"):
        ig.ablate(targets=targets, samplers=["gwg"], steps=4, out=tmp_path)
    # The finished cell is kept, and the failed one is not.
    assert len(list((tmp_path / "cells").iterdir())) == 1


def test_chains_begin_at_images(tmp_path):
    target, images = ig.energy(Mlp(16), sites=16), bars(60)
    torch.save(images, tmp_path / "bars.pt")
    options = {"chains": 6, "steps": 1, "seed": 2, "init": "data"}
    ours = ig.sample(target, "gwg", data=images, **options)
    assert torch.equal(ours.samples,
                       ig.sample(target, "gwg", data=tmp_path / "bars.pt", **options).samples)
    assert ours.summary["data_sha256"]


def test_tempering(ising):
    run = ig.sample(ising, "gwg", rungs=3, chains=4, burn_in=20, steps=20, seed=1)
    assert run.rungs.shape[1] == 3 and run.summary["tempering"]
