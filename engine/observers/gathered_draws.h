// Values that chains have at every draw, [draws, chains, …]: rank 0 has those of all chains, which
// the others hand over some draws at a time, so that nobody else holds many. A GPU hands its draws
// over some at a time, too: the host does not wait for every one.
#pragma once

#include <vector>

#include "engine/context.h"
#include "io/torch.h"

namespace isinglass {

class GatheredDraws {
 public:
  GatheredDraws() = default;
  // all: the tensor to fill, of all chains; it needs no storage but on rank 0.
  GatheredDraws(torch::Tensor all, const Ranks& ranks) : all_(std::move(all)), ranks_(&ranks) {}

  // The chains of this rank, in the order of draws.
  void put(const torch::Tensor& rows);
  // What is not handed over yet: by all ranks at once, after the last draw.
  void finish();

  const torch::Tensor& all() const { return all_; }

  // So many draws have been put before, and rank 0 has these rows of all chains, [n, chains, …].
  void restore(int64_t draws, const torch::Tensor& rows);

 private:
  torch::Tensor all_, block_;
  const Ranks* ranks_ = &Ranks::alone();
  int64_t done_ = 0, waiting_ = 0;
};

}  // namespace isinglass
