"""The ArviZ part of netcdf_test.cpp: checks that samples.nc of a run's folder holds the values of
samples.pt.

arviz_check.py DIR; exit code 77 if ArviZ or its NetCDF reader is missing.
"""
import pathlib
import sys

import numpy

try:
    import arviz
    import h5netcdf  # noqa: F401  the engine
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import torch


def main():
    folder = pathlib.Path(sys.argv[1])
    data = arviz.from_netcdf(folder / "samples.nc")
    draws = torch.load(folder / "samples.pt", weights_only=True)
    x, stats = data["posterior"]["x"], data["sample_stats"]
    assert x.dims == ("chain", "draw", "site"), x.dims
    assert x.dtype == numpy.uint8, x.dtype
    assert numpy.array_equal(x.values, draws["samples"].transpose(0, 1).numpy())
    assert numpy.array_equal(stats["energy"].values, draws["energy"].t().numpy())
    for name in ("energy", "acceptance", "hops"):
        assert stats[name].dims == ("chain", "draw"), stats[name].dims
    assert stats["acceptance"].min() >= 0 and stats["acceptance"].max() <= 1
    for group in ("posterior", "sample_stats"):
        attributes = data[group].attrs
        assert attributes["model"] == "ising" and attributes["sampler"] == "pafs", attributes
        assert (attributes["seed"] == 5 and
                attributes["inference_library"] == "isinglass"), attributes
    assert len(arviz.summary(data)) == x.sizes["site"]  # its diagnostics take the layout


if __name__ == "__main__":
    main()
