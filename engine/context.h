// Where a computation runs: its device, the processes that share its chains, and who may stop it.
#pragma once

#include <functional>
#include <future>

#include "io/torch.h"

namespace isinglass {

// Consecutive things of many, such as the chains of a rank.
struct Share {
  int64_t first = 0, count = 0;

  torch::Tensor of(const torch::Tensor& rows) const { return rows.narrow(0, first, count); }
};

// The processes among which chains are divided. What is learned from all chains (a mean acceptance,
// a curvature, weights) is reduced here, so that all ranks learn the same. This one is alone: what
// it has is all there is.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int64_t rank() const { return 0; }
  virtual int64_t size() const { return 1; }
  // The sum of the ranks' tensors, and their rows one rank after the other: on all ranks the same.
  // The order of a sum depends on how many ranks there are; that of rows does not.
  virtual torch::Tensor sum(const torch::Tensor& value) const { return value; }
  virtual torch::Tensor gather(const torch::Tensor& rows) const { return rows; }
  // The same while this rank goes on; get() waits for the last of the others. No rank has more than
  // `most` rows.
  virtual std::future<torch::Tensor> sum_meanwhile(const torch::Tensor& value) const;
  virtual std::future<torch::Tensor> gather_meanwhile(const torch::Tensor& rows,
                                                      int64_t most) const;
  virtual bool any(bool value) const { return value; }

  // The one that writes and prints.
  bool leads() const { return rank() == 0; }
  // The mean over all ranks' rows, in float64 if they are whole numbers: that of one process.
  torch::Tensor mean(const torch::Tensor& rows) const;
  // This rank's part of so many chains, in whole groups (what is left of them is the last rank's).
  // Throws Error, an OptionError of `chains`, if there are fewer groups than ranks.
  Share share(int64_t chains, int64_t group = 1) const;

  static const Ranks& alone();
};

struct Context {
  torch::Device device = torch::kCPU;
  const Ranks* ranks = &Ranks::alone();
  std::function<bool()> stop = {};  // asked between steps; true ends the computation early

  // Whether this rank is to stop; agreement.h asks all.
  bool to_stop() const { return stop && stop(); }
};

}  // namespace isinglass
