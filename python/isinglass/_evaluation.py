"""Likelihoods by annealed importance sampling or parallel tempering."""
import contextlib
import inspect
import os
import tempfile
import warnings
from collections.abc import Mapping
from typing import Any

import torch

from . import _isinglass
from ._run import interrupt, refuse_other_run, restriction_parameters, restrictions
from ._show import Shown
from ._stops import stop_function
from ._tables import (
    options_text,
    parameters,
    refuse_unknown,
    refuse_unused,
    texts_of,
    with_sampler,
)
from ._targets import lacks_gradient

_LEFT_OUT = ("model", "instance", "weights", "factors", "sites", "categories", "penalty",
             "temperature", "class_", "image", "bounds", "sampler", "dataset", "fixed", "allowed",
             "reference")


class Evaluation(Shown):
    """The results of an evaluation, with an attribute for every entry of ais.json.

    Estimates and energies are in nats. A data set with splits has a dictionary of likelihoods by
    split.

    Entries:
        log_z: the forward estimate of log Z, which is too low on average.
        log_z_se: its standard error.
        weight_ess: the effective sample size of its weights, at most the number of chains; only
            with annealing.
        log_z_upper: the reverse estimate, which is too high on average, with its standard error
            log_z_upper_se; with reverse=True or tempering.
        log_z_interval: the interval that is expected to hold log Z, from log_z less two standard
            errors to log_z_upper and two of its standard errors; with reverse=True or tempering.
        log_z_bidirectional: the estimate from both directions, which is the one to quote, with its
            standard error log_z_bidirectional_se; with reverse=True or tempering.
        verdict: closed if both directions agree, else open; `reason` says why. It is open for a
            callable without a definite energy, for which `inexact` says why.
        log_likelihood: the mean log π of the images or points, a dictionary {forward, reverse,
            bidirectional}; None for a direction that was not annealed.
        log_likelihood_interval: log_z_interval as likelihoods; None without it.
        bits_per_dim: the likelihood to quote, in bits per pixel or dimension.

    Attributes:
        values: all entries, a dictionary.
        x: the chains at the end [chains, sites]; None if there are none.
        log_weights: for annealing the logarithms of the weights of the chains, float64 [chains];
            else None.
        steps_done: the number of steps that were made.
        steps_total: the number of steps of the whole evaluation.
        interrupted: True if the evaluation ended early; it then has no values.

    Raises:
        AttributeError: if an entry is asked for that the evaluation does not have.

    Example:
        >>> import torch, isinglass as ig
        >>> target = ig.models.bernoulli(theta=torch.zeros(10))
        >>> found = ig.evaluate(target, sampler="gwg", chains=20, steps=50)
        >>> round(found.log_z, 4), found.log_weights.shape
        (6.9315, torch.Size([20]))
    """

    values: "dict[str, Any]"
    x: "torch.Tensor | None"
    log_weights: "torch.Tensor | None"
    steps_done: int
    steps_total: int
    interrupted: bool

    def __init__(self, made, whole):
        self.interrupted = not made["finished"]
        self.steps_done, self.steps_total = made["steps_done"], made["steps_total"]
        self.values = dict(made.get("json", {}))
        self.x, self.log_weights = made.get("x"), made.get("log_weights")
        if whole:  # a single set of images, without splits
            for name, value in self.values.items():
                if isinstance(value, dict) and set(value) == {"train"}:
                    self.values[name] = value["train"]

    def __getattr__(self, name: str) -> "Any":
        values = self.__dict__.get("values", {})
        if name in values:
            return values[name]
        raise AttributeError(f"the evaluation has no {name}; it has: "
                             f"{', '.join(values) or 'nothing, interrupted'}")

    def __dir__(self):
        return [*super().__dir__(), *self.values]

    def _title(self):
        if self.interrupted:
            return f"evaluation, interrupted after {self.steps_done} of {self.steps_total} steps"
        return f"evaluation of {self.values['model']} by {self.values['sampler']}"

    def _rows(self):
        rows = []
        for name, value in self.values.items():
            if isinstance(value, dict):
                rows += [(f"{name}, {part}", each) for part, each in value.items()
                         if isinstance(each, (int, float))]
            elif (isinstance(value, (int, float)) or
                  name in ("warning", "verdict", "note", "inexact") and value):
                rows.append((name, value))
        return rows


def evaluate(target, images=None, *, sampler=None, mean=None, fixed=None, allowed=None,
             reference=None, out=None, stop=None, **options):
    refuse_unknown(evaluate, options)
    stop = stop_function(stop)
    named = isinstance(images, (str, os.PathLike))
    if images is None:
        refuse_unused(options, {name: "applies to images, and there are none"
                                for name in ("levels", "validation", "test")})
    if not named:
        refuse_unused(options,
                      {"data_dir": "is the folder of a data set by name, and "
                                   "images= is not a name"})
    if images is None and options.get("inpaint") is not None:
        raise _isinglass.Error("inpaint= needs images=, whose missing pixels it evaluates")
    for name in ("validation", "test"):
        if not isinstance(options.get(name), (str, os.PathLike, type(None))):
            raise _isinglass.Error(f"{name}= takes a file; give tensors or arrays together, as "
                                   f"images={{'train': …, '{name}': …}}")
    sampler, options = with_sampler(sampler, options)
    if sampler is None and options.get("method") != "tempering" and lacks_gradient(target):
        sampler = "gibbs"
    values = {**texts_of(options), "sampler": sampler}
    if named:
        values["dataset"] = images
    limits = restrictions(values, fixed=fixed, allowed=allowed, reference=reference)
    whole = not (images is None or isinstance(images, (str, os.PathLike, Mapping)))
    with contextlib.ExitStack() as stack:
        directory = (out if out is not None
                     else stack.enter_context(tempfile.TemporaryDirectory(prefix="isinglass-")))
        refuse_other_run(directory, "evaluate", ("ais.json", "conditional.json",
                                                 "ais-checkpoint.pt"))
        os.makedirs(directory, exist_ok=True)
        checkpoint = os.path.join(directory, "ais-checkpoint.pt")
        made, error = _isinglass.evaluate(target, values, images, whole, mean, *limits, checkpoint,
                                          os.path.exists(checkpoint), out is not None, stop)
    evaluation = Evaluation(made, whole)
    if "inexact" in evaluation.values:
        warnings.warn(evaluation.values["inexact"], stacklevel=2)
    return interrupt(error, "evaluation", evaluation) if error is not None else evaluation


evaluate.__signature__ = inspect.Signature(
    [inspect.Parameter("target", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Target"),
     inspect.Parameter("images", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None,
                       annotation="torch.Tensor | Mapping[str, torch.Tensor] | str | "
                                  "os.PathLike | None"),
     inspect.Parameter("sampler", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="str | Sampler | None"),
     inspect.Parameter("mean", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="torch.Tensor | None"),
     *restriction_parameters(),
     inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="str | os.PathLike | None"),
     inspect.Parameter("stop", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="threading.Event | Callable[[], bool] | None"),
     *parameters("evaluate", _LEFT_OUT)], return_annotation="Evaluation")
evaluate.__doc__ = f"""\
Estimates log Z of a target by annealing or tempering, and the likelihood of images or points.

Args:
    target: a target.
    images: images as train() takes them, except that a tensor is not split, or real points [N, D]
        of a target of continuous sites, whose likelihoods are densities; a dictionary of splits
        (train, validation, test); the name or file of a data set; or None to estimate only log Z.
    sampler: a sampler's name (default: gibbs with scan="chromatic" for lattices and RBMs, unless an
        option of another sampler is given; else pafs, or gibbs without a gradient), or one made by
        sampler(), whose seed is used if seed= is not given.
    mean: the mean of the Bernoulli distribution from which annealing starts, float [D]; by default
        the target's own base, else the mean of the images, else the uniform distribution.
    fixed: log Z of some sites given the others: values [sites], or a file of them; NaN, or -1 if
        states are whole numbers, marks a site that is sampled, and the others keep their values.
    allowed: log Z of the states of some values: a table [sites, values], or a file of it, that is
        not 0 where a site may take a value.
    reference: with within=k, log Z of the states that differ from this one, [sites], at k sites at
        most; or a file of it.
    out: a directory for a checkpoint, from which the same call continues, and for the results:
        ais.json and chains.pt, or conditional.json with inpaint=, as `isinglass evaluate` writes
        them.
    stop: a threading.Event, or a function without arguments, which is called at most ten times a
        second. Once the event is set or the function returns True, the evaluation saves and ends
        after the current step.
{options_text("evaluate", _LEFT_OUT)}

Returns:
    the estimates, in nats, and their standard errors. If stop= ended the evaluation, `interrupted`
    is True and there are no estimates.

Raises:
    Error: if an option is unknown, not allowed or would have no effect, or if `out` holds an
        evaluation of another target or another kind of run.
    NumericalError: if the energy of an image is not finite.
    KeyboardInterrupt: after the current step of a call that Ctrl-C has interrupted, with the
        evaluation so far as its attribute `evaluation`. So does an exception of the function of
        stop=.

Example:
    >>> import torch, isinglass as ig
    >>> target = ig.models.bernoulli(theta=torch.zeros(10))
    >>> round(ig.evaluate(target, sampler="gwg", chains=20, steps=50).log_z, 4)  # 10 log 2
    6.9315
"""
