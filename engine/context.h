// The execution context: the device, the ranks that share the chains, and the request to stop.
#pragma once

#include <functional>
#include <future>

#include "io/torch.h"

namespace isinglass {

// A contiguous range of rows, such as the chains of one rank among those of all.
struct Shard {
  int64_t first = 0, count = 0;

  torch::Tensor of(const torch::Tensor& rows) const { return rows.narrow(0, first, count); }
};

// The processes (ranks) among which chains are divided. Whatever is learned from all chains (a mean
// acceptance, a curvature, weights) is reduced here, so that all ranks learn the same. This base
// class is a single process: its own data are all data, and the collectives return their argument.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int64_t rank() const { return 0; }
  virtual int64_t size() const { return 1; }
  // sum() returns the sum of all ranks' tensors; gather() returns their rows, concatenated in the
  // order of ranks. Both return the same on all ranks. The last bits of a sum may depend on the
  // number of ranks, because the order of additions does; the order of gathered rows does not.
  virtual torch::Tensor sum(const torch::Tensor& value) const { return value; }
  virtual torch::Tensor gather(const torch::Tensor& rows) const { return rows; }
  // Asynchronous versions of sum() and gather(): this rank goes on, and get() waits for the slowest
  // other rank. `most` is an upper bound of the number of rows of any rank.
  virtual std::future<torch::Tensor> all_reduce_async(const torch::Tensor& value) const;
  virtual std::future<torch::Tensor> all_gather_async(const torch::Tensor& rows,
                                                      int64_t most) const;
  virtual bool any(bool value) const { return value; }

  // Returns true on rank 0, which writes files and prints.
  bool is_rank0() const { return rank() == 0; }
  // Returns the mean over the rows of all ranks, with the bits that one process would get; integers
  // are averaged in float64.
  torch::Tensor mean(const torch::Tensor& rows) const;
  // Returns this rank's part of the chains, a whole number of groups; the last rank also takes the
  // chains left over by an incomplete group. Throws Error, an OptionError that names `chains`, if
  // there are fewer groups than ranks.
  Shard shard(int64_t chains, int64_t group = 1) const;

  static const Ranks& single_process();
};

struct Context {
  torch::Device device = torch::kCPU;
  const Ranks* ranks = &Ranks::single_process();
  // Asked between steps; true ends the computation early.
  std::function<bool()> stop = {};

  // Returns true if this rank is asked to stop; stop_consensus.h combines the answers of all ranks.
  bool to_stop() const { return stop && stop(); }
};

}  // namespace isinglass
