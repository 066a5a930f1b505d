// Collects values of all chains at every draw, [draws, chains, …], on rank 0. The other ranks send
// their values in blocks of some draws, so that they hold only one block. Values are also copied
// from a GPU in such blocks, so that the host does not wait at every draw.
#pragma once

#include <vector>

#include "engine/context.h"
#include "io/torch.h"

namespace isinglass {

class GatheredDraws {
 public:
  GatheredDraws() = default;
  // all: the tensor to fill, with the chains of all ranks. It needs storage on rank 0 only.
  GatheredDraws(torch::Tensor all, const Ranks& ranks) : all_(std::move(all)), ranks_(&ranks) {}

  // Adds the next draw of this rank's chains.
  void put(const torch::Tensor& rows);
  // Sends what has not been sent yet. All ranks call this together, after the last draw.
  void finish();

  const torch::Tensor& all() const { return all_; }

  // Restores the state after `draws` draws. rows [n, chains, …] are the last n draws of the chains
  // of all ranks; only rank 0 reads them.
  void restore(int64_t draws, const torch::Tensor& rows);

 private:
  torch::Tensor all_, block_;
  const Ranks* ranks_ = &Ranks::single_process();
  int64_t done_ = 0, waiting_ = 0;
};

}  // namespace isinglass
