// Collects values of all chains at every draw, [draws, chains, …], on rank 0. The other ranks send
// theirs some draws at a time, so that no other rank holds many. Draws are also copied from a GPU
// some at a time, so that the host does not wait at every draw.
#pragma once

#include <vector>

#include "engine/context.h"
#include "io/torch.h"

namespace isinglass {

class GatheredDraws {
 public:
  GatheredDraws() = default;
  // all: the tensor to fill, for the chains of all ranks; only on rank 0 does it need storage.
  GatheredDraws(torch::Tensor all, const Ranks& ranks) : all_(std::move(all)), ranks_(&ranks) {}

  // Adds the next draw of this rank's chains.
  void put(const torch::Tensor& rows);
  // Sends what has not been sent yet. All ranks call this together, after the last draw.
  void finish();

  const torch::Tensor& all() const { return all_; }

  // Restores the state after `draws` draws, of which the last ones are these rows of all chains,
  // [n, chains, …], on rank 0.
  void restore(int64_t draws, const torch::Tensor& rows);

 private:
  torch::Tensor all_, block_;
  const Ranks* ranks_ = &Ranks::single_process();
  int64_t done_ = 0, waiting_ = 0;
};

}  // namespace isinglass
