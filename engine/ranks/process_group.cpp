// See process_group.h.
#include "engine/ranks/process_group.h"

#include <algorithm>
#include <cstring>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "engine/ranks/backends.h"
#include "engine/ranks/job_stores.h"
#include "io/error.h"

namespace isinglass {

using torch::Tensor;

namespace {

// Rows of so many bytes go in one message, with their number.
constexpr int64_t kFrame = 4096, kHeader = 8;

// A collective, or a part of one. One that fails has lost a rank.
template <class Action>
auto losing(Action action) {
  try {
    return action();
  } catch (const std::exception& error) {
    throw RankLost(error.what());
  }
}

// A collective to its end.
template <class Start>
void together(Start start) {
  losing([&] { start()->wait(); });
}

Tensor bytes_of(const Tensor& rows) {
  return rows.contiguous().view({-1}).view(torch::kUInt8);
}

// The ranks' tensors, each of as many bytes, in one.
Tensor all_of(c10d::Backend& backend, Tensor own, int64_t ranks) {
  Tensor all = torch::empty({ranks * own.numel()}, own.options());
  together([&] { return backend._allgather_base(all, own); });
  return all.view({ranks, own.numel()});
}

}  // namespace

struct ProcessGroup::Backends {
  Backend cpu, gpu;  // gpu: null on the CPU

  c10d::Backend& of(const Tensor& value) const { return value.is_cpu() ? *cpu : *gpu; }
};

ProcessGroup::ProcessGroup(const Job& job, torch::Device device)
    : place_(job.place()), backends_(std::make_unique<Backends>()) {
  const Store store = job.stores().own;
  const auto named = [&](const char* name) {
    return c10::make_intrusive<c10d::PrefixStore>(name, store);
  };
  backends_->cpu = losing([&] { return gloo_backend(named("gloo"), place_); });
  const Tensor gpus = gather(torch::tensor({device.is_cuda() ? 1 : 0}));
  const int64_t with = gpus.sum().item<int64_t>();
  require(
      with == 0 || with == size(),
      "{} of {} ranks have a GPU, and rank {} has none: all have one, or with --device cpu none",
      with, size(), gpus.argmin().item<int64_t>());
  if (with > 0) {
    torch::cuda::synchronize(device.index());
    backends_->gpu = nccl_backend(named("nccl"), place_);
  }
}

ProcessGroup::~ProcessGroup() = default;

Tensor ProcessGroup::sum(const Tensor& value) const {
  return sum_meanwhile(value).get();
}

std::future<Tensor> ProcessGroup::sum_meanwhile(const Tensor& value) const {
  std::vector<Tensor> total = {value.clone(at::MemoryFormat::Contiguous)};
  const auto begun = losing([&] { return backends_->of(value).allreduce(total); });
  return std::async(std::launch::deferred, [total, begun] {
    losing([&] { begun->wait(); });
    return total[0];
  });
}

bool ProcessGroup::any(bool value) const {
  std::vector<Tensor> all = {torch::tensor({value ? 1 : 0}, torch::kUInt8)};
  c10d::AllreduceOptions most;
  most.reduceOp = c10d::ReduceOp::MAX;
  together([&] { return backends_->cpu->allreduce(all, most); });
  return all[0].item<uint8_t>() != 0;
}

// Everyone's bytes, one rank's after another's, of as many as each has.
Tensor ProcessGroup::gather_bytes(const Tensor& bytes) const {
  const int64_t count = bytes.numel();
  const bool small = bytes.is_cpu() && count <= kFrame - kHeader;
  Tensor frame = torch::zeros({kFrame}, torch::kUInt8);
  std::memcpy(frame.data_ptr(), &count, kHeader);
  if (small) frame.narrow(0, kHeader, count).copy_(bytes);
  const Tensor frames = all_of(*backends_->cpu, frame, size());
  std::vector<int64_t> counts(size());
  for (int64_t r = 0; r < size(); ++r) {
    std::memcpy(&counts[r], frames[r].data_ptr(), kHeader);
  }
  const int64_t most = *std::max_element(counts.begin(), counts.end());
  std::vector<Tensor> parts(size());
  const bool framed = bytes.is_cpu() && most <= kFrame - kHeader;
  Tensor padded = frames;
  if (!framed) {
    Tensor own = torch::empty({most}, bytes.options());
    own.narrow(0, 0, count).copy_(bytes);
    padded = all_of(backends_->of(bytes), own, size());
  }
  for (int64_t r = 0; r < size(); ++r) {
    parts[r] = padded[r].narrow(0, framed ? kHeader : 0, counts[r]);
  }
  return torch::cat(parts);
}

Tensor ProcessGroup::gather(const Tensor& rows) const {
  std::vector<int64_t> sizes = rows.sizes().vec();
  sizes[0] = -1;
  const Tensor bytes = gather_bytes(bytes_of(rows));
  return bytes.view(rows.scalar_type()).view(sizes);
}

}  // namespace isinglass
