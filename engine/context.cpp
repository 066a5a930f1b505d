// Implements the collectives of a single process, and the division of chains among ranks.
#include "engine/context.h"

#include "io/error.h"

namespace isinglass {

torch::Tensor Ranks::mean(const torch::Tensor& rows) const {
  const torch::Tensor all = gather(rows);
  return (all.is_floating_point() ? all : all.to(torch::kFloat64)).mean(0);
}

std::future<torch::Tensor> Ranks::all_reduce_async(const torch::Tensor& value) const {
  return std::async(std::launch::deferred, [this, value] { return sum(value); });
}

std::future<torch::Tensor> Ranks::all_gather_async(const torch::Tensor& rows, int64_t) const {
  return std::async(std::launch::deferred, [this, rows] { return gather(rows); });
}

Shard Ranks::shard(int64_t chains, int64_t group) const {
  const int64_t groups = chains / group;
  if (size() == 1) return {0, chains};
  require_option(groups >= size(), "chains", chains, "{} ranks need at least one {} each", size(),
                 group == 1 ? "chain" : fmt::format("group of {}", group));
  const auto begin = [&](int64_t rank) {
    return rank == size() ? chains : groups * rank / size() * group;
  };
  return {begin(rank()), begin(rank() + 1) - begin(rank())};
}

const Ranks& Ranks::single_process() {
  static const Ranks ranks;
  return ranks;
}

}  // namespace isinglass
