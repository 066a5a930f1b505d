"""The Python side of pt_python_test.cpp: opens our file and writes others. pt_python.py FOLDER"""

import math
import pathlib
import sys
from collections import OrderedDict

import torch


def check_ours(file):
    ours = torch.load(file, weights_only=True)
    assert list(ours) == ["iteration", "large", "negative", "rate", "nan", "done", "name", "none",
                          "list", "tensors"], list(ours)
    assert ours["iteration"] == 70000 and ours["large"] == 2**40 and ours["negative"] == -5
    assert ours["rate"] == 1e-4 and math.isnan(ours["nan"])
    assert ours["done"] is False and ours["name"] == "strokes ψ" and ours["none"] is None
    assert ours["list"] == [1, 2.5, "strokes ψ", []], ours["list"]
    tensors = ours["tensors"]
    for name in ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8",
                 "uint8", "bool"]:
        expected = torch.tensor([0, 1, 100]).to(getattr(torch, name))
        assert tensors[name].dtype == expected.dtype and torch.equal(tensors[name], expected), name
    assert torch.equal(tensors["transposed"], torch.arange(6.0).view(2, 3).t())
    assert tensors["number"].shape == () and tensors["number"].item() == 2.5
    assert tensors["empty"].shape == (0, 5)
    assert tensors["slice"].untyped_storage().nbytes() == 8, "a view brought its whole storage"


def check_state_dict(file):
    module = torch.nn.Linear(3, 2)
    module.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(module.weight, torch.arange(6.0).view(2, 3))
    assert torch.equal(module.bias, torch.tensor([-1.0, 1.0]))


def write_theirs(folder):
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Flatten(),
        torch.nn.Linear(4, 1))
    module = module.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-3, amsgrad=True)
    for _ in range(3):
        module(torch.randn(5, 1, 3, 3)).square().sum().backward()
        optimizer.step()
    for protocol in [2, 3, 4, 5]:
        torch.save(module.state_dict(), folder / f"module{protocol}.pt", pickle_protocol=protocol)
        torch.save({"model": module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3,
                    "parameters": list(module.parameters())},
                   folder / f"checkpoint{protocol}.pt", pickle_protocol=protocol)
    sums = OrderedDict((name, tensor.double().sum())
                       for name, tensor in module.state_dict().items())
    torch.save(sums, folder / "sums.pt")


folder = pathlib.Path(sys.argv[1])
check_ours(folder / "ours.pt")
check_state_dict(folder / "linear.pt")
write_theirs(folder)
