#!/usr/bin/env python3
"""Writes docs/results/trajectory-tempering….md: parallel trajectory tempering beside persistent
contrastive divergence.

    .venv/bin/python scripts/pages/trajectory_page.py [--model rbm|resnet] [--data-dir DIR]
        [--seconds S] [--seeds N] [--steps N] [--note TEXT] [--rows LOG]

After Béreux, Decelle, Furtlehner & Seoane 2024 (arXiv 2405.15376) and 2026 (arXiv 2607.27077): the
ladder is the run's own history. Frozen models m = 0, 1, … have beta = 1, and model 0 has
independent sites. Chains x of the present parameters θ and members y of a reservoir of states of
the newest frozen model change places with probability

    min(1, exp([U_θ(x) − U_m(x)] − [U_θ(y) − U_m(y)]))

If the mean of that probability over an iteration's chains is below FREEZE, θ becomes the next
frozen model. Its reservoir are the chains, after all of them have moved and swapped with the
previous reservoir, and log Z follows from model to model by Bennett's ratio. If the mean is below
REJECT, the update is taken back instead, the rate is halved until models are frozen again, and
Adam's moments are reset.

A model of static MNIST is trained by a loop over the package's public interface: by persistent
chains alone, by swaps for as many processor seconds, and by chains alone again for as many
iterations as the run with swaps had, which shows the effect of a shorter training by itself. The
models are evaluated by log Z from both ends, by R-hat of long chains from test images and from
noise, and by the shares of the ten digits that a linear classifier assigns to the draws. The page
is rewritten after every seed; --rows rewrites it from the printed output of a run.
"""
import argparse
import gzip
import json
import math
import platform
import re
import time
from pathlib import Path

import numpy
import torch

import isinglass as ig

ROOT = Path(__file__).resolve().parents[2]
FREEZE, REJECT = 0.3, 0.1
ALONE, SWAPS, SHORTER = "chains alone", "swaps", "chains alone, as many iterations"
BATCH, BUFFER, PASSES = 100, 1000, 2


def images(data, split):
    with gzip.open(data / f"static_mnist/binarized_mnist_{split}.amat.gz") as file:
        text = file.read()
    return torch.from_numpy(numpy.frombuffer(text.translate(None, b" \n\r"), numpy.uint8) -
                            ord("0")).view(-1, 784)


def digits(data, which):
    """Labels of MNIST, and its images as bits."""
    def read(kind, header):
        with gzip.open(data / f"mnist/{which}-{kind}-ubyte.gz") as file:
            return torch.from_numpy(
                numpy.frombuffer(file.read(), numpy.uint8, offset=header).copy())
    return (read("images-idx3", 16).view(-1, 784) > 127).float(), read("labels-idx1", 8).long()


def classifier(data):
    """Softmax regression on MNIST's training images, and its error on the others."""
    x, y = digits(data, "train")
    weights, bias = torch.zeros(784, 10, requires_grad=True), torch.zeros(10, requires_grad=True)
    optimiser = torch.optim.Adam([weights, bias], lr=1e-3)
    generator = torch.Generator().manual_seed(0)
    for _ in range(5):
        for rows in torch.randperm(len(x), generator=generator).split(500):
            loss = torch.nn.functional.cross_entropy(x[rows] @ weights + bias, y[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    x, y = digits(data, "t10k")

    @torch.no_grad()
    def classes(states):
        return (states.float() @ weights + bias).argmax(1)
    return classes, (classes(x) != y).double().mean().item()


def shares(classes, states):
    return torch.bincount(classes(states), minlength=10).double() / len(states)


def bennett(ahead, behind):
    """log Z_b/Z_a from U_b − U_a at as many draws of a (ahead) as of b (behind): the root of
    Bennett's equation."""
    low, high = -1e4, 1e4
    while high - low > 1e-9:
        c = (low + high) / 2
        low, high = ((c, high)
                     if torch.sigmoid(-(ahead + c)).sum() > torch.sigmoid(behind + c).sum()
                     else (low, c))
    return (low + high) / 2


class Frozen:
    """A model of the past, states of it and their energies, and its log Z."""

    def __init__(self, target, reservoir, log_z):
        self.target, self.reservoir, self.log_z = target, reservoir, log_z
        self.energy = energies(target, reservoir)


@torch.no_grad()
def energies(target, x):
    return target.energy(x).double()


def copied(parameters):
    return {name: value.detach().clone() for name, value in parameters.items()}


class Rbm:
    """An RBM: block Gibbs sweeps are its sampler, and log Z is estimated by annealing along its
    joint path."""
    page, title = "trajectory-tempering.md", "Trajectory tempering while an RBM learns"
    what = "An RBM of 500 hidden units"
    how = ("5 sweeps of {batch} of {buffer} chains an iteration, Adam at {rate:g} and falling to "
           "0, weight decay {decay:g}")
    hidden, rate, decay, square, steps, unit, long = 500, 1e-3, 0.02, 0, 5, "sweeps", 20000
    sampler = {"sampler": "gibbs", "scan": "chromatic"}
    evaluation = {"chains": 100, "steps": 10000, "reverse": True}
    evaluated = "annealing"
    meaning = """With swaps an iteration takes twice as long, \
and after equal time the test likelihood is lower. It
is also lower after as many iterations. The chains of the models mix better, and the shares of the
digits are closer to those of the data. The run's own log Z is about 200 nats too low.

What is open: there are three seeds and one length of training."""
    open = "the weights, or the chains that reverse annealing starts from, do not suffice"

    @staticmethod
    def target(parameters):
        return ig.models.rbm(**copied(parameters))

    def start(self, mean, generator):
        """Parameters to learn from; those of independent pixels, and their log Z."""
        logit = torch.logit(mean).float()
        biases = {"b_v": logit, "b_h": torch.zeros(self.hidden)}
        log_z = (torch.nn.functional.softplus(logit.double()).sum().item() +
                 self.hidden * math.log(2))
        return ({"W": 0.01 * torch.randn(self.hidden, 784, generator=generator), **biases},
                {"W": torch.zeros(self.hidden, 784), **biases}, log_z)


class Resnet:
    """A ResNet: pafs is its sampler, and log Z is estimated by parallel tempering."""
    page, title = "trajectory-tempering-resnet.md", "Trajectory tempering while a ResNet learns"
    what = "A ResNet of 8 channels"
    how = ("10 steps of pafs with radius 8 of {batch} of {buffer} chains an iteration, Adam at "
           "{rate:g} and falling to 0, squared energies at a weight of {square:g}")
    channels, rate, decay, square, steps, unit, long = 8, 2e-4, 0, 1e-4, 10, "steps of pafs", 4000
    sampler = {"sampler": "pafs", "radius": 8}
    evaluation = {"chains": 10, "steps": 3000, "method": "tempering", "adapt": True}
    evaluated = "tempering"
    meaning = """With swaps fewer iterations fit into the time, and the test likelihood is lower, \
also after as many
iterations. Mixing and the shares of the digits do not improve. The run's own log Z is about 50 nats
too low.

What is open: there are three seeds and one length of training, \
and seven of nine verdicts are open."""
    open = "the ensembles of tempering have not mixed"

    @staticmethod
    def target(parameters):
        return ig.models.resnet(copied(parameters), image="28x28")

    def start(self, mean, generator):
        width = self.channels

        def layer(name, inputs, outputs, *kernel):
            """As PyTorch begins."""
            bound = 1 / math.sqrt(inputs * math.prod(kernel))
            def drawn(*shape):
                return (2 * torch.rand(*shape, generator=generator) - 1) * bound
            return {f"{name}.weight": drawn(outputs, inputs, *kernel),
                    f"{name}.bias": drawn(outputs)}
        parameters = layer("proj", 1, width, 3, 3) | layer("energy_linear", width, 1)
        for block in range(8):
            parameters |= (layer(f"net.{block}.conv1", width, width, 3, 3) |
                           layer(f"net.{block}.conv2", width, width, 3, 3))
            if block < 2:
                parameters |= layer(f"net.{block}.shortcut_conv", width, width, 1, 1)
        parameters["mean"] = mean.float()
        flat = {name: torch.zeros_like(value) if name.startswith("energy_linear") else value
                for name, value in parameters.items()}
        return parameters, flat, 0.0


class Run:
    """One training. `swaps`: by trajectory tempering, else by persistent chains alone."""

    def __init__(self, model, train, seed, swaps):
        self.generator = torch.Generator().manual_seed(seed)
        self.model, self.train, self.swaps = model, train, swaps
        mean = ig.base_mean(train)
        start, independent, log_z = model.start(mean, self.generator)
        self.target = model.target(start)
        self.parameters = {name: value
                           for name, value in self.target.parameters().items() if name != "mean"}
        shrunk = [value for name, value in self.parameters.items() if value.dim() > 1]
        others = [value for name, value in self.parameters.items() if value.dim() <= 1]
        self.optimiser = torch.optim.AdamW([{"params": shrunk, "weight_decay": model.decay},
                                            {"params": others, "weight_decay": 0}], lr=model.rate)
        options = dict(model.sampler)
        self.sampler = ig.sampler(options.pop("sampler"), **options)
        chains = torch.bernoulli(mean.expand(BUFFER, -1), generator=self.generator)
        self.chains = chains.to(torch.uint8)
        self.start = seed
        self.frozen = Frozen(model.target(independent), self.chains.clone(), log_z)
        self.rate = 1.0
        self.iterations = self.models = self.taken_back = 0

    def move(self, rows):
        """Sweeps of these chains, and what they are swapped with."""
        self.start += 1000003
        x = self.sampler.run(self.target, self.chains[rows], steps=self.model.steps,
                             seed=self.start).x.clone()
        accepted = self.swap(x) if self.swaps else 1.0
        self.chains[rows] = x
        return x, accepted

    def swap(self, x):
        frozen = self.frozen
        member = torch.randperm(len(frozen.reservoir), generator=self.generator)[:len(x)]
        y = frozen.reservoir[member].clone()
        at_x, at_y = energies(frozen.target, x), frozen.energy[member]
        log_ratio = (energies(self.target, x) - at_x) - (energies(self.target, y) - at_y)
        accepted = torch.rand(len(x), generator=self.generator).log() < log_ratio
        frozen.reservoir[member[accepted]] = x[accepted]
        frozen.energy[member[accepted]] = at_x[accepted]
        x[accepted] = y[accepted]
        return log_ratio.clamp(max=0).exp().mean().item()

    def freeze(self):
        """θ is the next frozen model: all chains move and swap with the reservoir before, PASSES
        times, and are the next one."""
        for _ in range(PASSES):
            for rows in torch.randperm(BUFFER, generator=self.generator).split(BATCH):
                self.move(rows)
        frozen = self.frozen
        forward = energies(self.target, frozen.reservoir) - frozen.energy
        backward = energies(self.target, self.chains) - energies(frozen.target, self.chains)
        log_z = frozen.log_z + bennett(forward, backward)
        self.frozen = Frozen(self.model.target(self.target.parameters()), self.chains.clone(),
                             log_z)
        self.models += 1
        self.rate = min(1.0, 2 * self.rate)

    def iterate(self, rate):
        kept = copied(self.parameters) if self.swaps else None
        data = self.train[torch.randint(len(self.train), (BATCH,), generator=self.generator)]
        x, accepted = self.move(torch.randperm(BUFFER, generator=self.generator)[:BATCH])
        at_data, at_x = self.target.energy(data), self.target.energy(x)
        loss = (at_data.mean() - at_x.mean() +
                self.model.square * (at_data.square() + at_x.square()).mean())
        self.optimiser.zero_grad()
        loss.backward()
        for group in self.optimiser.param_groups:
            group["lr"] = self.model.rate * self.rate * rate
        self.optimiser.step()
        self.iterations += 1
        if not self.swaps:
            return
        if accepted < REJECT:
            with torch.no_grad():
                for name, value in self.parameters.items():
                    value.copy_(kept[name])
            self.rate /= 2
            self.optimiser.state.clear()
            self.taken_back += 1
        elif accepted < FREEZE:
            self.freeze()

    def go(self, seconds=math.inf, iterations=math.inf):
        """Until either is spent; the rate falls to 0 by then."""
        start = time.process_time()
        while ((spent := max((time.process_time() - start) / seconds,
                             self.iterations / iterations)) < 1):
            self.iterate(1 - spent)
        if self.swaps:
            self.freeze()


def judged(run, splits, classes, seed, steps):
    """Likelihoods from both ends, R-hat of long chains, and the digits among their states."""
    model = run.model
    target = model.target(run.target.parameters())
    found = ig.evaluate(target, splits, seed=seed, mean=ig.base_mean(splits["train"]),
                        **model.sampler, **model.evaluation)
    test = splits["test"]
    noise = torch.randint(0, 2, (50, 784), generator=torch.Generator().manual_seed(seed),
                          dtype=torch.uint8)
    long = ig.sample(target, init=torch.cat([test[:50], noise]), chains=100, steps=steps,
                     thin=steps // 200, seed=seed, **model.sampler)
    draws = long.samples[100:]
    truth = shares(classes, test)
    distance = (shares(classes, draws.flatten(0, 1)) - truth).abs().sum().item() / 2
    return {"iterations": run.iterations, "models": run.models, "taken back": run.taken_back,
            "likelihood": found.log_likelihood, "verdict": found.verdict, "bracket": found.bracket,
            "log_z": found.log_z_bidirectional,
            "own log_z": run.frozen.log_z if run.swaps else None, "rhat": long.summary["rhat"],
            "ess": long.summary["ess"]["bulk"], "distance": distance}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", type=Path, default=Path("data"))
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--model", choices=["rbm", "resnet"], default="rbm")
    parser.add_argument("--steps", type=int, help="of the long chains")
    parser.add_argument("--note", default="", help="what else was so while it ran")
    parser.add_argument("--rows", type=Path, help="the output of a run, in place of one")
    arguments = parser.parse_args()
    model = {"rbm": Rbm, "resnet": Resnet}[arguments.model]()
    arguments.steps = arguments.steps or model.long
    torch.set_num_threads(1)
    splits = {"train": images(arguments.data_dir, "train"),
              "validation": images(arguments.data_dir, "valid"),
              "test": images(arguments.data_dir, "test")}
    classes, error = classifier(arguments.data_dir)
    rows = []
    if arguments.rows:
        rows = [json.loads(line)
                for line in arguments.rows.read_text().splitlines() if line.startswith("{")]
        return write(model, rows, arguments, error)

    def learn(seed, how, **until):
        run = Run(model, splits["train"], seed, swaps=how == SWAPS)
        run.go(**until)
        rows.append({"seed": seed, "how": how,
                     **judged(run, splits, classes, seed, arguments.steps)})
        print(json.dumps(rows[-1]), flush=True)
        return run

    for seed in range(arguments.seeds):
        learn(seed, ALONE, seconds=arguments.seconds)
        swapped = learn(seed, SWAPS, seconds=arguments.seconds)
        learn(seed, SHORTER, iterations=swapped.iterations)
        write(model, rows, arguments, error)


def nats(row):
    found = row["likelihood"]["test"]["bidirectional"]
    return f"{found:.2f} ({row['verdict']}, bracket {row['bracket']:.2f})"


def difference(rows, how):
    """Of the runs with swaps to others of the same seeds."""
    def numbers(row):
        return [row["likelihood"]["test"]["bidirectional"], row["rhat"], 100 * row["distance"]]
    pairs = [(numbers(a), numbers(b)) for a in rows for b in rows
             if (a["how"], b["how"], a["seed"]) == (SWAPS, how, b["seed"])]
    apart = torch.tensor([[x - y for x, y in zip(*pair)] for pair in pairs], dtype=torch.float64)
    if len(apart) < 2:
        return ["one seed so far"] * 3
    return [f"{mean:+.{places}f} ± {error:.{places}f}{unit}" for mean, error, places, unit in
            zip(apart.mean(0), apart.std(0) / len(apart) ** 0.5, (1, 3, 1), ("", "", " %"))]


def write(model, rows, arguments, error):
    columns = ["seed", "", "iterations", "frozen models", "taken back", "test, nats",
               f"own log Z − log Z by {model.evaluated}", "R̂", "bulk ESS", "error of digit shares"]
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    for row in rows:
        swaps = row["how"] == SWAPS
        own = f"{row['own log_z'] - row['log_z']:+.1f}" if swaps else ""
        lines.append(f"| {row['seed']} | {row['how']} | {row['iterations']} | "
                     f"{row['models'] if swaps else ''} | {row['taken back'] if swaps else ''} | "
                     f"{nats(row)} | {own} | {row['rhat']:.3f} | {row['ess']:.0f} | "
                     f"{100 * row['distance']:.1f} % |")
    differences = [f"| {how} | {' | '.join(difference(rows, how))} |" for how in (ALONE, SHORTER)]
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    model_flag = "" if arguments.model == "rbm" else f" --model {arguments.model}"
    training = model.how.format(batch=BATCH, buffer=BUFFER, rate=model.rate, decay=model.decay,
                                square=model.square)
    text = f"""# {model.title}

This page compares two ways of training: persistent contrastive divergence (PCD) alone, and with
trajectory tempering, which swaps chains with a reservoir of states of an earlier model of the same
run. {model.what} learns static MNIST for {arguments.seconds:g} seconds of one processor.

{chr(10).join(lines)}

Runs with swaps minus chains alone, means over the seeds and their standard errors:

| compared with | test, nats | R̂ | error of digit shares |
| --- | --- | --- | --- |
{chr(10).join(differences)}

- *Test* is the log-likelihood in nats an image. The bracket is the difference between the upper and
  the lower estimate of log Z. A bracket below a nat is open where {model.open}.
- *Own log Z* of a run with swaps is the sum of Bennett's ratios along its models. The column gives
  its distance to the estimate by {model.evaluated}.
- *R̂* and *bulk ESS* are of the energy of 100 chains, half of them from test images and half from
  noise, over {arguments.steps} {model.unit} of the learned model.
- *Error of digit shares* is half the sum of the absolute differences between the shares of the ten
  digits among the later states of these chains and among the test images. A linear classifier
  assigns the digits; it is wrong on {100 * error:.1f} % of MNIST's binarised test images.

## How it was measured

`.venv/bin/python scripts/pages/trajectory_page.py{model_flag} --seconds {arguments.seconds:g}`
wrote this page on one core of {processor[1] if processor else platform.machine()}, LibTorch
{torch.__version__.split("+")[0]}, isinglass
{ig.__version__}.{" " + arguments.note if arguments.note else ""} The script describes the method
and its sources.

- Training:
  {training}.
- With swaps, chains also change places with states of the reservoir of the newest frozen model.
  Below an acceptance of {FREEZE:g} the present model is frozen as the next one, after all chains
  have moved and swapped {PASSES} times more. Below {REJECT:g} an update is taken back.
- *Chains alone, as many iterations* is a run without swaps of as many iterations as the run with
  swaps had.

## What it means

This section is written by hand about the tables above.

{model.meaning}
"""
    (ROOT / "docs/results" / model.page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
