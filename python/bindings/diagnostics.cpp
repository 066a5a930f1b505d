// Implements diagnostics of draws: effective sample sizes, R̂ and MMD².
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "engine/diagnostics/ess.h"
#include "engine/diagnostics/mmd.h"
#include "engine/diagnostics/rank_normalised.h"
#include "io/error.h"
#include "python/bindings/data.h"
#include "python/bindings/torch_state_guard.h"

namespace isinglass::python {
namespace {

using Diagnostic = std::function<double(const torch::Tensor& series, double rounding)>;

double papers_ess(const torch::Tensor& series, double) {
  return summarise(tfp_ess(series)).mean;
}

const std::vector<std::pair<std::string, Diagnostic>>& ess_kinds() {
  static const std::vector<std::pair<std::string, Diagnostic>> kinds = {
      {"bulk", bulk_ess}, {"tail", tail_ess}, {"mean", papers_ess}};
  return kinds;
}

// Returns the diagnostic of a statistic [draws, chains] as a number, or that of every site of a
// sample of states [draws, chains, D] as a tensor [D].
py::object of_series(const py::object& given, const std::optional<double>& rounding_given,
                     const Diagnostic& diagnostic) {
  const torch::Tensor x = tensor_of(given, "x");
  require(x.dim() == 2 || x.dim() == 3,
          "x has shape [{}]; [draws, chains] or [draws, chains, D] is "
          "needed",
          fmt::join(x.sizes(), ", "));
  require(!x.is_complex(), "x holds complex numbers; real numbers are needed");
  require(x.numel() > 0, "x has shape [{}], which holds no number", fmt::join(x.sizes(), ", "));
  std::vector<double> all;
  {
    const TorchStateGuard guard;
    const double rounding = rounding_given.value_or(
        x.is_floating_point() ? rounding_of(x.scalar_type()) : kCarriedRounding);
    const torch::Tensor series = x.to(torch::kFloat64);
    for (int64_t site = 0; site < (x.dim() == 3 ? x.size(2) : 1); ++site) {
      all.push_back(
          diagnostic(x.dim() == 3 ? series.select(2, site).contiguous() : series, rounding));
    }
  }
  if (x.dim() == 2) return py::float_(all.front());
  return py::cast(torch::tensor(all, torch::kFloat64));
}

py::object ess(const py::object& x, const std::string& kind,
               const std::optional<double>& rounding) {
  std::vector<std::string> names;
  for (const auto& [name, diagnostic] : ess_kinds()) {
    if (name == kind) return of_series(x, rounding, diagnostic);
    names.push_back(name);
  }
  fail("kind= is '{}'; known: {}", kind, fmt::join(names, ", "));
}

py::object rhat(const py::object& x, const std::optional<double>& rounding) {
  return of_series(x, rounding, [](const torch::Tensor& series, double within) {
    return rank_rhat(series, within);
  });
}

// Returns the draws [draws, chains, D], or independent draws [N, D], as groups [G, draws, D].
torch::Tensor groups_of(const py::object& given, const char* name) {
  const torch::Tensor x = tensor_of(given, name);
  require(x.dim() == 2 || x.dim() == 3,
          "{} has shape [{}]; [draws, chains, D], or [N, D] for independent draws, is needed", name,
          fmt::join(x.sizes(), ", "));
  require(!x.is_floating_point() && !x.is_complex(),
          "{} holds values of type {}; the kernel counts the sites that differ, so that whole "
          "numbers are needed",
          name, c10::toString(x.scalar_type()));
  require(x.numel() > 0, "{} has shape [{}], which holds no number", name,
          fmt::join(x.sizes(), ", "));
  return x.dim() == 2 ? x.unsqueeze(1) : x.transpose(0, 1);
}

py::object mmd(const py::object& x, const py::object& y, bool biased, bool standard_error) {
  require_options(!biased || !standard_error,
                  "standard_error= is that of the unbiased estimate; biased= has none");
  const torch::Tensor a = groups_of(x, "x"), b = groups_of(y, "y");
  require(a.size(2) == b.size(2), "x has {} sites and y has {}; equally many are needed", a.size(2),
          b.size(2));
  Mmd result;
  {
    const TorchStateGuard guard;
    const torch::ScalarType type = torch::promote_types(a.scalar_type(), b.scalar_type());
    result = hamming_mmd(a.to(type).contiguous(), b.to(type).contiguous());
  }
  if (standard_error) return py::make_tuple(result.u_statistic, result.standard_error);
  return py::float_(biased ? result.v_statistic : result.u_statistic);
}

}  // namespace

void add_diagnostics(py::module_& module) {
  module.def("ess", &ess, py::arg("x"), py::arg("kind") = "bulk", py::kw_only(),
             py::arg("rounding") = py::none(),
             R"(Computes the effective sample size of draws.

Args:
    x: draws of a statistic [draws, chains], such as run.energy, or of states [draws, chains, D]: a
        tensor, array or list.
    kind: bulk and tail are those of Vehtari et al. (2021) for all chains together, which ArviZ
        calls ess_bulk and ess_tail; mean is the effective sample size of the papers, which is the
        mean over the chains of each chain's own.
    rounding: values that differ by no more than this share of them count as equal, as they do where
        one state's energies differ by rounding (default: 2^-40 for float64 and 2^-20 for float32).
        2^-20 is needed for the energies of a float32 network, which are float64 in run.energy.

Returns:
    a number for [draws, chains]; that of every site, float64 [D], for [draws, chains, D]. It is NaN
    for fewer than 10 draws (of kind mean: 4), for numbers that are not finite, and for a constant.

Raises:
    Error: if the shape or `kind` is not allowed.

Example:
    >>> import torch, isinglass as ig
    >>> draws = torch.arange(400.0).remainder(7).view(100, 4)
    >>> ig.ess(draws) > 100
    True)");
  module.def("rhat", &rhat, py::arg("x"), py::kw_only(), py::arg("rounding") = py::none(),
             R"(Computes R-hat of draws, which is close to 1 if the chains agree.

It is the larger one of R-hat of the ranks and of the folded ranks (Vehtari et al. 2021), which
ArviZ calls rhat. Above 1.1 the chains have not converged.

Args:
    x: draws of a statistic [draws, chains], such as run.energy, or of states [draws, chains, D]: a
        tensor, array or list.
    rounding: values that differ by no more than this share of them count as equal, as they do where
        one state's energies differ by rounding (default: 2^-40 for float64 and 2^-20 for float32).
        2^-20 is needed for the energies of a float32 network, which are float64 in run.energy.

Returns:
    a number for [draws, chains]; that of every site, float64 [D], for [draws, chains, D]. It is NaN
    for fewer than 2 chains or 4 draws, for numbers that are not finite, and for a constant.

Raises:
    Error: if the shape is not allowed.

Example:
    >>> import torch, isinglass as ig
    >>> ig.rhat(torch.arange(8.0).repeat_interleave(2).view(8, 2)) > 1.1
    True)");
  module.def("mmd", &mmd, py::arg("x"), py::arg("y"), py::kw_only(), py::arg("biased") = false,
             py::arg("standard_error") = false,
             R"(Computes the squared maximum mean discrepancy (MMD) between two samples of discrete
states, with the kernel exp(-share of the sites that differ).

Args:
    x: states [draws, chains, D], or [N, D] for draws that are independent of each other: a tensor,
        array or list of whole numbers.
    y: the states of the other sample, likewise.
    biased: include pairs of draws of one chain, and of a draw with itself, as the papers plot.
        Otherwise the estimate is unbiased, and is around 0 for two samples of one distribution.
    standard_error: return the standard error as well, by a jackknife over the chains.

Returns:
    a number, or the number and its standard error. The unbiased estimate is NaN for fewer than two
    chains in a sample, and the standard error for fewer than three.

Raises:
    Error: if the shapes or types are not allowed.

Example:
    >>> import isinglass as ig
    >>> round(ig.mmd([[0, 0], [0, 0], [0, 0]], [[1, 1], [1, 1], [1, 1]]), 3)
    1.264)");
}

}  // namespace isinglass::python
