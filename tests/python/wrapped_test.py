"""State dicts of wrapped modules and of other people's checkpoints are read if there is only one
way to read them.
"""
import pytest
import torch

import isinglass as ig
from conftest import Cubic, bars

SITES = 16


def network():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layers = [torch.nn.Linear(SITES, 256), torch.nn.SiLU(), torch.nn.Linear(256, 256),
                  torch.nn.SiLU(), torch.nn.Linear(256, 256), torch.nn.SiLU(),
                  torch.nn.Linear(256, 1)]
        return torch.nn.Sequential(*layers)


class Holder(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return -self.net(x)[:, 0]


WRAPPED = {"plain": lambda net: net.state_dict(),
           "DataParallel": lambda net: torch.nn.DataParallel(net).state_dict(),
           "compiled": lambda net: torch.compile(net).state_dict(),
           "both": lambda net: torch.nn.DataParallel(torch.compile(net)).state_dict(),
           "averaged": lambda net: torch.optim.swa_utils.AveragedModel(net).state_dict(),
           "held": lambda net: Holder(net).state_dict()}
CHECKPOINTS = {"plain": lambda state: state,
               "Lightning": lambda state: {"epoch": 3, "state_dict": state, "optimizer_states": []},
               "with an optimiser": lambda state:
                   {"model": state, "step": torch.tensor(4), "optimizer": torch.optim.Adam(
                       [torch.zeros(2, requires_grad=True)]).state_dict()},
               "model_state_dict": lambda state: {"model_state_dict": state, "loss": 0.3}}


@pytest.mark.parametrize("checkpoint", CHECKPOINTS)
@pytest.mark.parametrize("wrapped", WRAPPED)
def test_from_a_file_and_from_memory(wrapped, checkpoint, tmp_path):
    net = network()
    saved = CHECKPOINTS[checkpoint](WRAPPED[wrapped](net))
    torch.save(saved, tmp_path / "net.pt")
    x = ig.energy(Holder(net), sites=SITES).random_states(5)
    for target in (ig.load("mlp", tmp_path / "net.pt"), ig.models.mlp(saved)):
        torch.testing.assert_close(target.energy(x).float(), -net(x.float())[:, 0])


def test_of_modules_themselves():
    net = network()
    x = torch.zeros(1, SITES, dtype=torch.uint8)
    for module in (torch.compile(net), torch.nn.DataParallel(net), Holder(net)):
        torch.testing.assert_close(ig.models.mlp(module).energy(x).float(), -net(x.float())[:, 0])


def test_what_cannot_be_taken_is_named(tmp_path):
    state = network().state_dict()
    for saved, words in (({"model": state, "ema_model": state},
                          "holds several state dicts: model, ema_model"),
                         ({"a": torch.zeros(2)}, "tensor '0.weight' is missing; it holds 'a'"),
                         ({**state, "extra": torch.zeros(2)}, "unexpected tensor 'extra'")):
        torch.save(saved, tmp_path / "net.pt")
        for call in (lambda: ig.load("mlp", tmp_path / "net.pt"),
                     lambda saved=saved: ig.models.mlp(saved)):
            with pytest.raises(ig.Error, match=words):
                call()
    with pytest.raises(ig.Error, match=r"tensor 'W' has shape \[4, 3\]; it must be \[3, 4\]"):
        ig.models.rbm(W=torch.zeros(4, 3), b_v=torch.zeros(4), b_h=torch.zeros(3))


def test_trained_parameters_go_into_the_module_and_what_it_wraps():
    options = {"sampler": "gwg", "iters": 3, "batch": 5, "buffer": 10, "steps_per_iter": 1,
               "warmup": 0}
    for wrap in (lambda m: torch.compile(m, backend="eager"), torch.nn.DataParallel,
                 lambda m: torch.nn.Sequential(torch.nn.Identity(), m)):
        module = Cubic(SITES)
        trained = wrap(module)
        fit = ig.train(ig.energy(trained, sites=SITES), bars(40), **options)
        for target in (trained, module, Cubic(SITES), wrap(Cubic(SITES)),
                       torch.compile(Cubic(SITES), backend="eager")):
            fit.load_into(target)
            values = next(value for name, value in target.state_dict().items()
                          if name.endswith("field"))
            expected = next(value for name, value in fit.parameters.items()
                            if name.endswith("field"))
            assert torch.equal(values, expected)
        with pytest.raises(ig.Error,
                           match="the parameters are .*field.*, and the module has 0.bias"):
            fit.load_into(network())
