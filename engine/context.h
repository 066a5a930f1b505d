// Where a computation runs: its device, the processes that share its chains, and who may stop it.
#pragma once

#include <functional>

#include "io/torch.h"

namespace isinglass {

// The processes among which chains are divided. What is learned from all chains (a mean acceptance,
// a curvature, weights) is reduced here, so that all ranks learn the same. This one is alone: what
// it has is all there is.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int64_t rank() const { return 0; }
  virtual int64_t size() const { return 1; }
  // The sum of the ranks' tensors, and their rows one rank after the other: on all ranks the same.
  virtual torch::Tensor sum(const torch::Tensor& value) const { return value; }
  virtual torch::Tensor gather(const torch::Tensor& rows) const { return rows; }
  virtual bool any(bool value) const { return value; }

  // The mean over all ranks' rows, in float64 if they are whole numbers.
  torch::Tensor mean(const torch::Tensor& rows) const;
  // The same, of each rank's own mean over so many rows.
  torch::Tensor mean_of(const torch::Tensor& own_mean, int64_t rows) const;

  static const Ranks& alone();
};

struct Context {
  torch::Device device = torch::kCPU;
  const Ranks* ranks = &Ranks::alone();
  std::function<bool()> stop = {};  // asked between steps; true ends the computation early

  // Whether any rank is to stop.
  bool stopped() const { return ranks->any(stop && stop()); }
};

}  // namespace isinglass
