"""scripts/pages/small_rbm_page.py: its log Z against the sum over visible states.

    small_rbm_test.py SOURCE_DIR
"""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "scripts/pages"))
from small_rbm_page import log_z, states_of

torch.manual_seed(0)
for hidden, visible in ((8, 6), (5, 7), (1, 2)):
    w, b, c = (torch.randn(hidden, visible).double(), torch.randn(visible).double(),
               torch.randn(hidden).double())
    x = states_of(visible)
    brute = torch.logsumexp(x @ b + torch.nn.functional.softplus(x @ w.T + c).sum(1), 0)
    exact = log_z(w, b, c)
    assert abs(brute - exact) < 1e-12 * abs(brute), (hidden, visible, brute, exact)
print("log Z is the sum over visible states")
