// Ranks that are processes. They exchange tensors by c10d's process groups: Gloo for the CPU and
// NCCL for GPUs.
#pragma once

#include <memory>
#include <stdexcept>

#include "engine/context.h"
#include "engine/ranks/job.h"

namespace isinglass {

// Thrown if another rank ended during a collective. That rank, or the job (job.h), reports the
// cause.
class RankLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Checks the identifiers of the ranks' GPUs, one row per rank (backends.h). Throws Error that names
// two ranks which share a GPU.
void require_own_gpus(const torch::Tensor& uuids);

class ProcessGroup : public Ranks {
 public:
  // All ranks construct it together, after they have met. device: this rank's device. Throws Error
  // if some ranks have a GPU and others none, or if two have the same.
  ProcessGroup(const Job& job, torch::Device device);
  ~ProcessGroup() override;

  int64_t rank() const override { return place_.rank; }
  int64_t size() const override { return place_.size; }
  torch::Tensor sum(const torch::Tensor& value) const override;
  std::future<torch::Tensor> all_reduce_async(const torch::Tensor& value) const override;
  torch::Tensor gather(const torch::Tensor& rows) const override;
  std::future<torch::Tensor> all_gather_async(const torch::Tensor& rows,
                                              int64_t most) const override;
  bool any(bool value) const override;

 private:
  struct Backends;

  RankInfo place_;
  std::unique_ptr<Backends> backends_;
};

}  // namespace isinglass
