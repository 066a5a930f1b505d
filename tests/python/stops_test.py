"""Runs are watched by callback= and ended by callback= and stop=, in the main thread and in
others.
"""
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
import torch

import isinglass as ig
from conftest import bars

LONG = {"chains": 100, "steps": 3_000_000, "thin": 1000}
TRAINING = {"sampler": "gwg", "batch": 10, "buffer": 20, "steps_per_iter": 2, "warmup": 0,
            "seed": 1, "hidden": 4}


def slow(told):
    """Returns a callback that keeps what it gets. It takes so long that it is called after every
    step.
    """
    def callback(numbers):
        told.append(numbers)
        time.sleep(0.11)
    return callback


@pytest.mark.parametrize("burn_in", [0, 3])
def test_a_callback_sees_every_number(burn_in):
    target, told = ig.energy(lambda x: (x * torch.linspace(-1, 1, 6)).sum(1), sites=6), []
    options = {"chains": 5, "burn_in": burn_in, "steps": 4, "thin": 2, "seed": 2, "moves": True}
    run = ig.sample(target, "rwm", callback=slow(told), **options)
    assert torch.equal(run.samples, ig.sample(target, "rwm", **options).samples)
    assert not run.interrupted
    assert [numbers["step"] for numbers in told] == list(range(1, burn_in + 5))
    assert {numbers["total"] for numbers in told} == {burn_in + 4}
    assert [numbers["draws"] for numbers in told] == [0] * burn_in + [0, 1, 1, 2]
    kept = told[burn_in:]
    energies = run.energy.mean(1).tolist()
    assert [numbers["energy"] for numbers in kept[1::2]] == pytest.approx(energies, abs=1e-9)
    accepted = torch.tensor([numbers["acceptance"] for numbers in kept], dtype=torch.float64)
    torch.testing.assert_close(accepted.reshape(2, 2).mean(1), run.acceptance.mean(1), rtol=0,
                               atol=1e-12)


def test_a_callback_is_called_seldom_and_at_the_end(ising):
    told, start = [], time.monotonic()
    run = ig.sample(ising, "gwg", chains=10, burn_in=200, steps=2000, thin=20, callback=told.append)
    assert 2 <= len(told) <= 10 * (time.monotonic() - start) + 2
    assert told[-1]["step"] == told[-1]["total"] == 2200
    assert told[-1]["draws"] == len(run.samples) == 100


@pytest.mark.parametrize("answer", [True, numpy.True_])
def test_a_callback_that_returns_true_ends_a_run(ising, answer):
    run = ig.sample(ising, "gwg", callback=lambda n: answer if n["draws"] > 0 else None, **LONG)
    assert run.interrupted and "interrupted" in repr(run)
    assert len(run.samples) == run.summary["draws"] > 0
    assert 1000 <= run.summary["steps_done"] < LONG["steps"]


@pytest.mark.parametrize("answer", [None, False, 1, "yes", torch.tensor(2.0)])
def test_other_answers_end_nothing(ising, answer):
    assert not ig.sample(ising, "gwg", chains=2, steps=5, callback=lambda n: answer).interrupted


def test_a_run_in_a_thread_is_ended_by_an_event(ising):
    begun, stop = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(ig.sample, ising, "gwg", callback=lambda n: begun.set(), stop=stop,
                             **LONG)
        begun.wait(60)
        stop.set()
        run = future.result(timeout=60)
    assert run.interrupted and 0 < run.summary["steps_done"] < LONG["steps"]
    assert len(run.samples) == run.summary["draws"] == run.summary["steps_done"] // LONG["thin"]


def test_a_stop_that_holds_before(ising):
    stop = threading.Event()
    stop.set()
    assert ig.sample(ising, "gwg", stop=stop, **LONG).summary["steps_done"] == 0
    short = {"chains": 2, "burn_in": 10, "steps": 0}
    assert ig.sample(ising, "gwg", stop=stop, **short).interrupted
    assert not ig.sample(ising, "gwg", stop=lambda: False, **short).interrupted


def test_a_stop_function_is_called_seldom(ising):
    calls, start = [], time.monotonic()

    def stop():
        calls.append(time.monotonic())
        return time.monotonic() > start + 0.5

    assert ig.sample(ising, "gwg", stop=stop, **LONG).interrupted
    assert len(calls) >= 2 and min(b - a for a, b in zip(calls, calls[1:], strict=False)) > 0.09


@pytest.mark.parametrize("name", ["callback", "stop"])
def test_an_exception_ends_a_run_and_is_raised(ising, name):
    def fail(*_):
        if time.monotonic() > start + 0.2:
            raise ZeroDivisionError("ours")

    start = time.monotonic()
    with pytest.raises(ZeroDivisionError, match="ours") as caught:
        ig.sample(ising, "gwg", **{name: fail}, **LONG)
    run = caught.value.run
    assert run.interrupted and len(run.samples) == run.summary["draws"]


@pytest.mark.parametrize("thin", [1, 7])
@pytest.mark.parametrize("sampler", ["gwg", "gibbs", "rwm"])
def test_an_exception_of_the_energy_keeps_the_draws(sampler, thin):
    calls = 0

    def energy(x):
        nonlocal calls
        calls += 1
        if calls > last:
            raise ZeroDivisionError("ours")
        return x @ torch.linspace(-1, 1, 6)

    target = ig.energy(energy, sites=6)
    options = {"chains": 5, "burn_in": 7, "thin": thin, "seed": 3}
    last = float("inf")
    whole = ig.sample(target, sampler, steps=140, **options)
    calls, last = 0, calls // 2
    with pytest.raises(ZeroDivisionError, match="ours") as caught:
        ig.sample(target, sampler, steps=140, **options)
    run = caught.value.run
    draws = len(run.samples)
    assert run.interrupted and 3 < draws < 140 // thin and draws == run.summary["draws"]
    assert torch.equal(run.samples, whole.samples[:draws])
    assert 0 <= run.summary["acceptance"] <= 1


def test_a_refused_energy_keeps_the_draws():
    calls = 0

    def energy(x):
        nonlocal calls
        calls += 1
        return x.sum(1) if calls < 40 else x

    with pytest.raises(ig.Error, match="returned shape") as caught:
        ig.sample(ig.energy(energy, sites=6), "gwg", chains=5, steps=1000)
    assert caught.value.run.interrupted and len(caught.value.run.samples) > 3


def test_a_callback_that_returns_true_ends_training(tmp_path):
    images = bars(100)
    whole = ig.train("rbm", images, iters=60, **TRAINING)
    fit = ig.train("rbm", images, iters=60, out=tmp_path / "run",
                   callback=lambda m: m["iteration"] == 20, **TRAINING)
    assert fit.interrupted and fit.iteration == 20 == len(fit.metrics)
    again = ig.train("rbm", images, iters=60, out=tmp_path / "run", **TRAINING)
    assert not again.interrupted
    for name, tensor in whole.parameters.items():
        assert torch.equal(again.parameters[name], tensor)


def test_an_exception_of_a_callback_keeps_the_training(tmp_path):
    def fail(numbers):
        if numbers["iteration"] == 7:
            raise ZeroDivisionError("ours")

    with pytest.raises(ZeroDivisionError, match="ours") as caught:
        ig.train("rbm", bars(100), iters=60, out=tmp_path / "run", callback=fail, **TRAINING)
    assert caught.value.fit.interrupted and caught.value.fit.iteration == 7
    assert ig.train("rbm", bars(100), iters=9, out=tmp_path / "run", **TRAINING).iteration == 9


def test_an_event_ends_training():
    stop = threading.Event()
    fit = ig.train("rbm", bars(100), iters=1_000_000, stop=stop,
                   callback=lambda m: stop.set() if m["iteration"] == 5 else None, **TRAINING)
    assert fit.interrupted and 5 <= fit.iteration < 1_000_000


def test_an_event_ends_an_evaluation(tmp_path):
    stop, calls = threading.Event(), []

    def energy(x):
        calls.append(1)
        if len(calls) > 200:
            stop.set()
        return (x * torch.linspace(-1, 1, 6)).sum(1)

    target, options = ig.energy(energy, sites=6), {"sampler": "gwg", "chains": 4, "steps": 5000}
    found = ig.evaluate(target, out=tmp_path, stop=stop, **options)
    assert found.interrupted and 0 < found.steps_done < found.steps_total
    again = ig.evaluate(target, out=tmp_path, **options)
    assert not again.interrupted and again.log_z == ig.evaluate(target, **options).log_z


def test_what_cannot_be_called_is_refused(ising):
    for call, name in [(lambda **o: ig.sample(ising, "gwg", steps=1, **o), "callback"),
                       (lambda **o: ig.train("rbm", bars(20), **o), "callback"),
                       (lambda **o: ig.sample(ising, "gwg", steps=1, **o), "stop"),
                       (lambda **o: ig.train("rbm", bars(20), **o), "stop"),
                       (lambda **o: ig.evaluate(ising, **o), "stop")]:
        with pytest.raises(ig.Error, match=f"^{name}= is 3; a .* is needed$"):
            call(**{name: 3})


class Ending(torch.nn.Module):
    """Raises `error` once, in the middle of its 400th call."""

    def __init__(self, error):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(16))
        self.error, self.calls = error, 0

    def forward(self, x):
        self.calls += 1
        if self.calls == 400:
            raise self.error
        return x.flatten(1) @ self.w


@pytest.mark.parametrize("error", [SystemExit(143), KeyboardInterrupt()])
def test_a_signal_in_the_middle_of_a_call_loses_nothing(error, tmp_path):
    with pytest.raises(type(error)) as caught:
        ig.sample(ig.energy(Ending(error), sites=16), "rwm", chains=4, steps=5000)
    assert caught.value.run.interrupted and 300 < len(caught.value.run.samples) < 500
    options = {name: value for name, value in TRAINING.items() if name != "hidden"}
    with pytest.raises(type(error)) as caught:
        ig.train(Ending(error), bars(100), iters=1000, out=tmp_path / "run", **options)
    fit = caught.value.fit
    assert fit.interrupted and fit.iteration > 10
    assert (tmp_path / "run" / "checkpoints" / f"{fit.iteration:08}.pt").exists()
