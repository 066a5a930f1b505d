#!/usr/bin/env python3
"""Prints the exact mean log-likelihood [nats] of the binary test images of a .pt file under an RBM
of few hidden units, whose log Z is a sum over all hidden states:
  scripts/exact_rbm.py WEIGHTS.pt IMAGES.pt

  log Z = log sum over h of exp(b_h h + sum over i of softplus(b_v + W' h)_i)
"""
import sys

import torch
from torch.nn.functional import softplus

STATES_AT_ONCE, MOST_HIDDEN = 2**14, 24


def log_z(w, b_v, b_h):
    """Returns log Z of W [H, D], b_v [D] and b_h [H]."""
    hidden = w.shape[0]
    if hidden > MOST_HIDDEN:
        sys.exit(f"the RBM has {hidden} hidden units; at most {MOST_HIDDEN} can be summed over")
    parts = []
    for first in range(0, 2**hidden, STATES_AT_ONCE):
        number = torch.arange(first, min(first + STATES_AT_ONCE, 2**hidden))
        h = ((number[:, None] >> torch.arange(hidden)) & 1).float()
        parts.append(softplus(h @ w + b_v).double().sum(1) + (h @ b_h).double())
    return torch.logsumexp(torch.cat(parts), 0)


def main():
    weights, images = sys.argv[1:]
    saved = torch.load(weights)
    w, b_v, b_h = (saved[name].float() for name in ("W", "b_v", "b_h"))
    v = torch.load(images)["test"].reshape(-1, w.shape[1]).float()
    log_p = (v @ b_v).double() + softplus(v @ w.T + b_h).double().sum(1) - log_z(w, b_v, b_h)
    print(f"{log_p.mean().item():.3f} nats per image, exact")


if __name__ == "__main__":
    main()
