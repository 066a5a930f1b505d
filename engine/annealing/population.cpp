// Implements the resampling of annealed chains.
#include "engine/annealing/population.h"

#include <algorithm>
#include <cmath>

#include "kernels/random/philox.h"

namespace isinglass {
namespace {

// Writes how many chains continue each chain of a group, from the log-weights.
void count_copies(const double* log_weight, int64_t group, double u, int64_t* copies) {
  const double largest = *std::max_element(log_weight, log_weight + group);
  double total = 0;
  for (int64_t i = 0; i < group; ++i) total += std::exp(log_weight[i] - largest);
  double sum = 0;
  int64_t before = 0;  // Counts the points below the sum.
  for (int64_t i = 0; i < group; ++i) {
    sum += std::exp(log_weight[i] - largest);
    const double points = std::ceil(static_cast<double>(group) * sum / total - u);
    const int64_t below =
        i + 1 == group ? group : std::clamp(static_cast<int64_t>(points), before, group);
    copies[i] = below - before;
    before = below;
  }
}

}  // namespace

torch::Tensor resampled_chains(const torch::Tensor& log_weight, int64_t group,
                               const torch::Tensor& rng, const torch::Tensor& chain_ids) {
  const torch::Tensor weights = log_weight.cpu().contiguous(), stream = rng.cpu();
  const torch::Tensor ids = chain_ids.cpu().contiguous();
  const int64_t chains = weights.size(0);
  TORCH_CHECK(chains % group == 0, "the group must divide the chains");
  torch::Tensor continued = torch::arange(chains, torch::kInt64);
  auto* from = continued.data_ptr<int64_t>();
  std::vector<int64_t> copies(group);
  for (int64_t first = 0; first < chains; first += group) {
    const double u = step_draws(stream.data_ptr<int64_t>(), ids.data_ptr<int64_t>()[first])
                         .uniform(Purpose::kResample);
    count_copies(weights.data_ptr<double>() + first, group, u, copies.data());
    int64_t place = 0;  // The next chain that is not continued.
    for (int64_t i = 0; i < group; ++i) {
      for (; copies[i] > 1; --copies[i]) {
        while (copies[place] > 0) ++place;
        from[first + place++] = first + i;
      }
    }
  }
  return continued;
}

}  // namespace isinglass
