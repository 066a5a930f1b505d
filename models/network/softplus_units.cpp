// Implements the sums in blocks of chains, so that memory stays bounded.
#include "models/network/softplus_units.h"

#include <algorithm>

namespace isinglass {

torch::Tensor softplus_changes(const torch::Tensor& a, const torch::Tensor& change,
                               const torch::Tensor& w) {
  const torch::Tensor weight = w.t().contiguous();
  torch::Tensor sums = torch::empty(change.sizes(), change.options().dtype(torch::kFloat64));
  const int64_t chains = std::max<int64_t>(1, kSoftplusTerms / w.numel());
  for (int64_t first = 0; first < a.size(0); first += chains) {
    const torch::Tensor before = a.slice(0, first, first + chains).unsqueeze(1);
    const torch::Tensor after =
        torch::addcmul(before, change.slice(0, first, first + chains).unsqueeze(2), weight);
    const torch::Tensor terms = torch::softplus(after).sub_(torch::softplus(before));
    sums.slice(0, first, first + chains).copy_(terms.sum(2, false, torch::kFloat64));
  }
  return sums;
}

}  // namespace isinglass
