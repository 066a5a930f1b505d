"""Golden values of the deep models: writes, beside itself, for each case NAME

  NAME.pt            the state dict, seeded, scaled so that energies vary
  NAME_expected.pt   states uint8 [N, D], energy float64 [N], gradient float32 [N, D] or [N, D, K]

from a plain PyTorch implementation in float64. Usage: python resnet.py
"""

import pathlib

import torch
from torch import nn
from torch.nn.functional import silu


class Block(nn.Module):
    def __init__(self, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, stride, 1)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1)
        if stride > 1:
            self.shortcut_conv = nn.Conv2d(channels, channels, 1, stride, 0)

    def forward(self, x):
        kept = self.shortcut_conv(x) if hasattr(self, "shortcut_conv") else x
        return silu(self.conv2(silu(self.conv1(x))) + kept)


class ResNet(nn.Module):
    """Log-probability-like output of binary images [N, H·W]; the energy is its negative."""

    def __init__(self, height, width, channels, mean=None):
        super().__init__()
        self.shape = (1, height, width)
        self.proj = nn.Conv2d(1, channels, 3, 1, 1)
        self.net = nn.Sequential(*[Block(channels, 2 if i < 2 else 1) for i in range(8)])
        self.energy_linear = nn.Linear(channels, 1)
        if mean is not None:
            self.register_buffer("mean", mean)

    def forward(self, x):
        features = self.net(self.proj(x.view(-1, *self.shape)))
        output = self.energy_linear(features.mean((2, 3))).squeeze(1)
        if hasattr(self, "mean"):
            output = output + torch.distributions.Bernoulli(self.mean).log_prob(x).sum(1)
        return output


class CategoricalResNet(ResNet):
    """The same for one-hot images [N, H·W, K]."""

    def __init__(self, height, width, channels, values, proj, mean=None):
        super().__init__(height, width, channels)
        net, energy_linear = self.net, self.energy_linear
        del self.net, self.energy_linear  # so that keys come in the order of the published code
        self.shape = (height, width, values)
        self.proj = nn.Conv2d(values, proj, 1, 1, 0)
        self.proj2 = nn.Conv2d(proj, channels, 3, 1, 1)
        self.net, self.energy_linear = net, energy_linear
        if mean is not None:
            self.register_buffer("mean", mean)

    def forward(self, x):
        image = x.view(-1, *self.shape).permute(0, 3, 1, 2)
        features = self.net(self.proj2(self.proj(image)))
        output = self.energy_linear(features.mean((2, 3))).squeeze(1)
        if hasattr(self, "mean"):
            output = output + (x * self.mean.log()).sum((1, 2))
        return output


def mlp(inputs):
    return nn.Sequential(nn.Linear(inputs, 256), nn.SiLU(), nn.Linear(256, 256), nn.SiLU(),
                         nn.Linear(256, 256), nn.SiLU(), nn.Linear(256, 1), nn.Flatten(0))


def overlapping(tensor):
    """Returns a tensor of the same shape whose rows share a storage of few numbers, so that the
    file stays small.
    """
    rows, columns = tensor.shape
    numbers = 2 * torch.randn(3 * rows + columns) / columns**0.5
    return numbers.as_strided((rows, columns), (3, 1))


def write(name, network, state, sites, values=None):
    network.load_state_dict(state)
    network.double().requires_grad_(False)
    if values:
        states = torch.randint(values, (6, sites))
        x = nn.functional.one_hot(states, values).double().requires_grad_(True)
    else:
        states = torch.rand(6, sites) < torch.linspace(0.1, 0.9, 6)[:, None]
        x = states.double().requires_grad_(True)
    energy = -network(x)
    (gradient,) = torch.autograd.grad(energy.sum(), x)
    print(name, "energies", [round(u, 3) for u in energy.tolist()],
          "gradient", gradient.abs().max().item())
    folder = pathlib.Path(__file__).parent
    torch.save(state, folder / f"{name}.pt")
    torch.save({"states": states.to(torch.uint8), "energy": energy.detach(),
                "gradient": gradient.float()}, folder / f"{name}_expected.pt")


def write_resnet(height, width, with_mean):
    mean = 0.05 + 0.9 * torch.rand(height * width) if with_mean else None
    network = ResNet(height, width, 8, mean)
    for key, tensor in network.named_parameters():
        if tensor.dim() > 1:
            tensor.data *= 40 if key.startswith("energy_linear") else 2.4
    # Half precision keeps the files small.
    state = {key: tensor.detach().clone().half() if key != "mean" else tensor
             for key, tensor in network.state_dict().items()}
    write(f"resnet_{height}x{width}" + ("_mean" if with_mean else ""), network, state,
          height * width)


def write_categorical(height, width, values, with_mean):
    mean = torch.rand(height * width, values) + 0.05
    network = CategoricalResNet(height, width, 6, values, 3,
                                mean / mean.sum(1, True) if with_mean else None)
    for key, tensor in network.named_parameters():
        if tensor.dim() > 1:
            tensor.data *= 40 if key.startswith("energy_linear") else 2.4
    state = {key: tensor.detach().clone().half() if key != "mean" else tensor
             for key, tensor in network.state_dict().items()}
    write(f"resnet_{height}x{width}_of_{values}" + ("_mean" if with_mean else ""), network, state,
          height * width, values)


def write_mlp(inputs):
    network = mlp(inputs)
    state = {key: 3 * tensor.detach() for key, tensor in network.state_dict().items()}
    for key in ("2.weight", "4.weight"):
        state[key] = overlapping(state[key])
    write("mlp", network, state, inputs)


if __name__ == "__main__":
    torch.manual_seed(20)
    for with_mean in (False, True):
        write_resnet(28, 28, with_mean)
        write_resnet(12, 10, with_mean)
    write_mlp(20)
    for with_mean in (False, True):
        write_categorical(7, 6, 5, with_mean)
