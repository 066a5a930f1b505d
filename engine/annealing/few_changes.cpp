// Computes the probabilities of changes.
#include "engine/annealing/few_changes.h"

#include <cmath>
#include <vector>

namespace isinglass {
namespace {

// Computes change [D, C] of one row, with C = k + 1 or more, and returns log S_0[k]. differ and
// same are q_i and 1 − q_i.
double fill(const double* differ, const double* same, int64_t sites, int64_t columns, int64_t most,
            double* change) {
  std::vector<double> ratio(columns, 1.0);  // R_{i+1}
  ratio[0] = 0;
  double log_s = 0;
  for (int64_t i = sites; i-- > 0;) {
    double below = 0;  // a_i[c − 1]
    for (int64_t c = 0; c < columns; ++c) {
      const double a = same[i] + differ[i] * ratio[c];
      change[i * columns + c] = differ[i] * ratio[c] / a;
      if (c > 0) ratio[c] *= below / a;
      if (c == most) log_s += std::log(a);
      below = a;
    }
  }
  return log_s;
}

}  // namespace

FewChanges few_changes(const torch::Tensor& p, const DistanceLimit& limit) {
  const torch::Tensor at = p.to(torch::kCPU, torch::kFloat64);
  const torch::Tensor differs = limit.differs.to(torch::kCPU);
  TORCH_CHECK(differs.dim() == 3 && p.sizes() == differs.sizes().slice(1) &&
                  limit.most.numel() == differs.size(0),
              "the limit of changes is for other sites");
  const int64_t rows = differs.size(0), sites = differs.size(1);
  // A sum of either kind of values keeps its relative precision where 1 − q_i would not.
  const torch::Tensor differ = torch::where(differs, at, 0.0).sum(2).contiguous();
  const torch::Tensor same = torch::where(differs, 0.0, at).sum(2).contiguous();
  // More changes than sites do not matter.
  const torch::Tensor most = limit.most.to(torch::kCPU).clamp_max(sites).contiguous();
  const int64_t columns = most.max().item<int64_t>() + 1;
  torch::Tensor change = torch::empty({rows, sites, columns}, torch::kFloat64);
  torch::Tensor log_probability = torch::empty({rows}, torch::kFloat64);
  for (int64_t n = 0; n < rows; ++n) {
    const int64_t first = n * sites;
    log_probability.data_ptr<double>()[n] =
        fill(differ.data_ptr<double>() + first, same.data_ptr<double>() + first, sites, columns,
             most.data_ptr<int64_t>()[n], change.data_ptr<double>() + first * columns);
  }
  const torch::Device device = limit.differs.device();
  return {
      {at.to(device).contiguous(), limit.differs.contiguous(), change.to(device), most.to(device)},
      log_probability};
}

}  // namespace isinglass
