// Ranks that are processes: tensors go between them by c10d's process groups, Gloo's for the CPU and
// NCCL's for GPUs.
#pragma once

#include <memory>
#include <stdexcept>

#include "engine/context.h"
#include "engine/ranks/job.h"

namespace isinglass {

// Another rank ended in the middle of what all do together. Whose failure it was, that rank says, or
// the job (job.h).
class RankLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// By a row for every rank (backends.h). Throws Error naming two that share one.
void require_own_gpus(const torch::Tensor& uuids);

class ProcessGroup : public Ranks {
 public:
  // All ranks make it together, after they have met. The device is this rank's. Throws Error if
  // some have a GPU and others none, or two the same.
  ProcessGroup(const Job& job, torch::Device device);
  ~ProcessGroup() override;

  int64_t rank() const override { return place_.rank; }
  int64_t size() const override { return place_.size; }
  torch::Tensor sum(const torch::Tensor& value) const override;
  std::future<torch::Tensor> sum_meanwhile(const torch::Tensor& value) const override;
  torch::Tensor gather(const torch::Tensor& rows) const override;
  std::future<torch::Tensor> gather_meanwhile(const torch::Tensor& rows,
                                              int64_t most) const override;
  bool any(bool value) const override;

 private:
  struct Backends;

  Place place_;
  std::unique_ptr<Backends> backends_;
};

}  // namespace isinglass
