"""The package leaves global state alone: after every call, also after exceptions and Ctrl-C, the
settings of torch and Python are as before.
"""
import os
import signal
import threading
import time
import warnings

import pytest
import torch

import isinglass as ig
from conftest import Mlp, bars

SITES = 16
LONG = {"chains": 2, "steps": 3_000_000, "thin": 1000}  # a run that does not end by itself


def world():
    return {
        "generator": torch.get_rng_state().tolist(),
        "default dtype": torch.get_default_dtype(),
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "matmul precision": torch.get_float32_matmul_precision(),
        "tf32": (torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "threads": (torch.get_num_threads(), torch.get_num_interop_threads()),
        "signals": [signal.getsignal(number)
                    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)],
        "warnings": list(warnings.filters),
        "directory": os.getcwd(),
        "environment": dict(os.environ),
    }


def step(target):
    sampler = ig.sampler("pafs", radius=2)
    sampler.step(target, sampler.init(target, chains=4, seed=0))


CALLS = {
    "sample": lambda target: ig.sample(target, "gwg", chains=4, steps=5),
    "step": step,
    "energy": lambda target: target.energy(target.random_states(4)),
    "train": lambda target:
        ig.train(target, bars(50), sampler="gwg", iters=3, batch=5, buffer=10, steps_per_iter=2),
    "train by name": lambda target:
        ig.train("mlp", bars(50), sampler="gwg", iters=3, batch=5, buffer=10,
                 steps_per_iter=2),
    "evaluate": lambda target: ig.evaluate(target, bars(50), sampler="gwg", chains=4, steps=10),
    "ablate": lambda target:
        ig.ablate(targets={"mine": target}, samplers=["gwg"], steps=10, chains=4),
    "error": lambda target: pytest.raises(ig.Error, ig.sample, target, "gwg", steps=-1),
    "their error": lambda target:
        pytest.raises(ZeroDivisionError, ig.sample, ig.energy(lambda x: 1 / 0, sites=3),
                      "gwg", steps=1),
}


@pytest.fixture
def unusual():
    """Sets values that are nobody's default."""
    torch.set_float32_matmul_precision("medium")
    torch.backends.cudnn.allow_tf32 = True
    old = signal.signal(signal.SIGTERM, lambda *_: None)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_float32_matmul_precision("highest")
    torch.set_num_threads(threads)
    signal.signal(signal.SIGTERM, old)


@pytest.mark.parametrize("call", CALLS)
def test_all_is_as_before(call, unusual):
    target = ig.energy(Mlp(SITES), sites=SITES)
    before = world()
    CALLS[call](target)
    assert world() == before


def test_full_precision_inside(unusual):
    seen = []

    def linear(x):
        seen.append((torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32))
        return x.sum(1)

    ig.sample(ig.energy(linear, sites=4), "gwg", steps=2, chains=2)
    assert set(seen) == {("highest", False)}


def test_default_dtype_is_the_processs_own():
    """Other threads never see another default type while something runs, and a change made
    meanwhile persists.
    """
    target, seen, done = ig.instance("ising-grid:side=16,coupling=0.3"), set(), threading.Event()

    def work():
        for name in ("mlp", "resnet", "rbm"):
            more = {"channels": 4} if name == "resnet" else {}
            ig.train(name, bars(50), sampler="gwg", iters=20, batch=5, buffer=10, steps_per_iter=2,
                     **more)
        ig.sample(target, "gwg", chains=20, steps=2000)
        done.set()

    thread = threading.Thread(target=work)
    torch.set_default_dtype(torch.float64)
    try:
        thread.start()
        while not done.is_set() and thread.is_alive():
            seen.add(torch.ones(1).dtype)
            torch.set_default_dtype(torch.float64)
            time.sleep(0.0002)
        thread.join()
        assert (done.is_set() and seen == {torch.float64} and
                torch.get_default_dtype() == torch.float64)
    finally:
        torch.set_default_dtype(torch.float32)


def same_with_float64_as_default(draws):
    """Requires the tensors that draws() returns to be the same bits and type if float64 is the
    default type."""
    expected = draws()
    torch.set_default_dtype(torch.float64)
    try:
        found = draws()
    finally:
        torch.set_default_dtype(torch.float32)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype and torch.equal(ours, theirs)


@pytest.mark.parametrize("name",
                         ["ising-grid:side=3,coupling=0.3", "misled-mixture", "misled-rings",
                          "misled-flat"])
def test_default_dtype_makes_no_difference_to_instances(name):
    def draws():
        target = ig.instance(name)
        return [ig.sample(target, sampler, chains=4, burn_in=20, steps=20, seed=2).energy
                for sampler in (("gwg", "pafs", "lb", "block-gibbs", "lsb-2", "ab-1st")
                                if "ising" in name
                                else ("mala", "hmc", "fhl"))]

    same_with_float64_as_default(draws)


def test_default_dtype_is_theirs_in_a_callable():
    torch.set_default_dtype(torch.float64)
    try:
        target = ig.energy(lambda x: x.double() @ torch.ones(4), sites=4)
        assert ig.sample(target, "gwg", steps=3, chains=2).energy.shape == (3, 2)
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_callers_grad_mode_is_theirs():
    with torch.no_grad():
        step(ig.energy(Mlp(SITES), sites=SITES))
        assert not torch.is_grad_enabled()


@pytest.mark.parametrize("model", ["rbm", "mlp", "resnet"])
def test_default_dtype_makes_no_difference(model):
    shape = {"rbm": {"hidden": 3}, "mlp": {}, "resnet": {"channels": 8}}[model]

    def draws():
        images = bars(60)
        fit = ig.train(model, images, sampler="gwg", iters=3, batch=5, buffer=10, steps_per_iter=2,
                       warmup=0, **shape)
        energies = [ig.sample(fit.target, name, chains=4, burn_in=6, steps=6, seed=2,
                              init=bars(4)).energy
                    for name in ("gwg", "pafs", "lbj", "dlp", "gibbs")]
        ais = ig.evaluate(fit.target, images, sampler="gwg", chains=4, steps=10)
        return [*fit.parameters.values(), *energies, ais.log_weights]

    same_with_float64_as_default(draws)


@pytest.mark.parametrize("sampler", [entry["name"] for entry in ig._tables.TABLES["samplers"]])
def test_default_dtype_of_samplers(sampler):
    kinds = {"binary": "ising-grid:side=4,coupling=0.3",
             "categorical": "categorical:sites=6,categories=3",
             "ordered": "lattice-gaussian-rotated:sites=6,categories=5",
             "continuous": "misled-mixture", "permutation": "permutation:sites=6"}
    states = {entry["name"]: entry["states"]
              for entry in ig._tables.TABLES["samplers"]}[sampler].split(", ")

    def target(kind):
        base = ig.instance(kinds[kind])
        if sampler != "surrogate":
            return base
        return ig.models.residual(base, lambda x: x.flatten(1).cumsum(1).sin().sum(1))

    # Chains that exchange clusters serve searches only.
    options = {"anneal": "2,1"} if sampler == "cluster-gibbs" else {}

    def draws():
        return [ig.sample(target(kind), sampler, chains=20, burn_in=6, steps=6, seed=2,
                          **options).energy for kind in states]

    same_with_float64_as_default(draws)


class Bell:
    """Raises Ctrl-C once, at the n-th call of an energy, from a separate thread, so that it arrives
    anywhere.
    """

    def __init__(self, after):
        self.calls, self.after = 0, after

    def __call__(self, x):
        self.calls += 1
        if self.calls == self.after:
            os.kill(os.getpid(), signal.SIGINT)
        return x.sum(1)


def test_ctrl_c_in_a_callable_keeps_the_draws():
    before = world()
    with pytest.raises(KeyboardInterrupt) as caught:
        ig.sample(ig.energy(Bell(40), sites=4), "gwg", chains=3, steps=100_000_000 // 50, thin=2)
    run = caught.value.run
    assert run.interrupted and "interrupted" in repr(run)
    assert 10 <= run.summary["steps_done"] < 100 and len(run.samples) == run.summary["draws"] > 0
    assert world() == before


def alarm(seconds):
    threading.Thread(target=lambda: (time.sleep(seconds), os.kill(os.getpid(), signal.SIGINT)),
                     daemon=True).start()


def test_ctrl_c_in_our_own_code(ising):
    before = world()
    alarm(0.3)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as caught:
        ig.sample(ising, "gwg", chains=100, steps=3_000_000, thin=1000)
    assert time.monotonic() - start < 5
    assert caught.value.run.interrupted and caught.value.run.summary["steps_done"] > 0
    assert world() == before
    state = ig.sampler("gwg").init(ising, chains=10)
    alarm(0.2)
    with pytest.raises(KeyboardInterrupt):
        ig.sampler("gwg").steps(ising, state, 10**9)
    assert state.steps > 0


def test_ctrl_c_in_training_goes_on(tmp_path):
    images = bars(100)
    options = {"sampler": "gwg", "batch": 10, "buffer": 20, "steps_per_iter": 2, "warmup": 0,
               "seed": 1, "hidden": 4}
    whole = ig.train("rbm", images, iters=150, **options)
    calls = []

    def bell(metrics):
        calls.append(metrics)
        if len(calls) == 20:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        ig.train("rbm", images, iters=150, out=tmp_path / "run", callback=bell, **options)
    fit = caught.value.fit
    assert fit.interrupted and 20 <= fit.iteration < 150 and len(fit.metrics) == fit.iteration
    again = ig.train("rbm", images, iters=150, out=tmp_path / "run", **options)
    assert all(torch.equal(again.parameters[name], tensor)
               for name, tensor in whole.parameters.items())


def test_ctrl_c_in_evaluation_goes_on(ising, tmp_path):
    options = {"sampler": "gwg", "chains": 20, "steps": 6000}
    alarm(0.1)
    with pytest.raises(KeyboardInterrupt) as caught:
        ig.evaluate(ising, out=tmp_path, **options)
    stopped = caught.value.evaluation
    assert stopped.interrupted and 0 < stopped.steps_done < stopped.steps_total
    with pytest.raises(AttributeError, match="interrupted"):
        stopped.log_z  # noqa: B018
    again = ig.evaluate(ising, out=tmp_path, **options)
    assert again.log_z == ig.evaluate(ising, **options).log_z


def test_their_own_signal_handler():
    class Alarm(Exception):
        pass

    def ring(*_):
        raise Alarm

    old = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Alarm) as caught:
            ig.sample(ig.instance("ising-grid:side=4,coupling=0.3"), "gwg", chains=100,
                      steps=3_000_000, thin=1000)
        assert caught.value.run.interrupted
        assert signal.getsignal(signal.SIGALRM) is ring
    finally:
        signal.signal(signal.SIGALRM, old)


def test_two_targets_in_two_threads():
    targets = [ig.energy(Mlp(SITES, seed=1), sites=SITES),
               ig.instance("ising-grid:side=4,coupling=0.3"),
               ig.energy(Mlp(SITES, seed=2), sites=SITES)]
    options = {"chains": 8, "steps": 60, "thin": 3, "seed": 5, "radius": 2}
    expected = [ig.sample(target, "pafs", **options).samples for target in targets]
    torch.backends.cudnn.allow_tf32, before = True, torch.backends.cudnn.allow_tf32
    found = [None] * len(targets)

    def work(i):
        found[i] = ig.sample(targets[i], "pafs", **options).samples

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(targets))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.backends.cudnn.allow_tf32 is True
    torch.backends.cudnn.allow_tf32 = before
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(found, expected, strict=True))


def in_threads(*works):
    """Runs functions in threads of their own, and returns what they returned or raised."""
    found = [None] * len(works)

    def work(i):
        try:
            found[i] = works[i]()
        except Exception as error:  # the caller looks at it
            found[i] = error

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize("derived", [False, True])
def test_threads_take_turns_on_one_target(derived):
    """Models keep tables of the latest temperatures and fields of the latest chains: two runs on
    one target, or on a target and one that was made of it, are what each is alone."""
    target = ig.instance("ising-grid:side=16,coupling=0.5")
    others = target.at_temperature(1.0) if derived else target

    def sampled(one, seed):
        return lambda: ig.sample(one, "gibbs", scan="chromatic", chains=16, burn_in=20, steps=400,
                                 seed=seed).samples

    def annealed(one, seed):
        return lambda: ig.evaluate(one, sampler="gibbs", scan="chromatic", chains=16, steps=400,
                                   seed=seed, reverse=False).log_z

    def stepped(one, seed):
        def work():
            sampler = ig.sampler("lbj", tau=1.0)
            state = sampler.init(one, chains=8, seed=seed)
            for _ in range(100):
                sampler.step(one, state)
            return state.x
        return work

    for made in (sampled, annealed, stepped):
        works = [made(target, 1), made(others, 2), made(target, 3)]
        alone = [work() for work in works]
        for found, expected in zip(in_threads(*works), alone, strict=True):
            assert torch.equal(torch.as_tensor(found), torch.as_tensor(expected)), (made, found)


def test_a_long_run_lets_other_threads_use_its_target(ising):
    begun, asked = threading.Event(), threading.Event()

    def watched(_):
        begun.set()
        return asked.is_set()  # ends the run

    def ask():
        begun.wait()
        energy = ising.energy(ising.random_states(4))
        asked.set()
        return energy

    run, energy = in_threads(
        lambda: ig.sample(ising, "gwg", callback=watched, **LONG), ask)
    assert run.interrupted, run
    assert torch.equal(energy, ising.energy(ising.random_states(4)))


def test_calls_within_calls_on_targets():
    """A callback may use the target of its run, and another one unless a thread is using it."""
    one, other = (ig.instance("ising-grid:side=4,coupling=0.3") for _ in range(2))
    begun, ended, said = threading.Event(), threading.Event(), []

    def look(_):
        one.energy(one.random_states(2))
        if not begun.is_set():
            other.energy(other.random_states(2))
            begun.set()
        elif not said:
            try:
                other.energy(other.random_states(2))
            except ig.Error as error:
                said.append(str(error))
                return True
        return False

    def use_other():
        begun.wait()
        return ig.sample(other, "gwg", stop=ended, **LONG)

    def use_one():
        run = ig.sample(one, "gwg", callback=look, **LONG)
        ended.set()
        return run

    runs = in_threads(use_one, use_other)
    assert all(run.interrupted for run in runs), runs
    assert "copy.deepcopy" in said[0]


def test_a_setting_that_is_changed_meanwhile_stays(ising):
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("high")
        run = ig.sample(ising, "gwg", chains=2, steps=5,
                        callback=lambda _: torch.set_float32_matmul_precision("medium"))
        assert len(run.samples) == 5 and torch.get_float32_matmul_precision() == "medium"
        ig.sample(ising, "gwg", chains=2, steps=5)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


def test_other_threads_run_meanwhile(ising):
    """The GIL is released while our code runs."""
    counted = [0]
    done = threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    state = ig.sampler("gwg").init(ising, chains=100)
    before, start = counted[0], time.monotonic()
    ig.sampler("gwg").steps(ising, state, 3000)
    took, made = time.monotonic() - start, counted[0] - before
    done.set()
    thread.join()
    assert made > 20 * took
