// Implements the collectives of ranks that are processes.
#include "engine/ranks/process_group.h"

#include <map>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "engine/ranks/backends.h"
#include "engine/ranks/job_stores.h"
#include "io/error.h"

namespace isinglass {

using torch::Tensor;

namespace {

// The size of the first frame of a gather, and the part of a frame that holds the number of bytes.
constexpr int64_t kFrame = 4096, kHeader = 8;

// Runs a collective, or a part of one. Any failure means that a rank is lost.
template <class Action>
auto losing(Action action) {
  try {
    return action();
  } catch (const std::exception& error) {
    throw RankLost(error.what());
  }
}

// Starts a collective and waits for its end.
template <class Start>
void together(Start start) {
  losing([&] { start()->wait(); });
}

Tensor bytes_of(const Tensor& rows) {
  return rows.contiguous().view({-1}).view(torch::kUInt8);
}

// Sends bytes to all ranks as frames of one size, each with the number of bytes in front. Of a rank
// that has more bytes than fit, the others learn only the number.
class Frames {
 public:
  Frames(c10d::Backend& backend, const Tensor& bytes, int64_t most, int64_t ranks)
      : own_(torch::zeros({kHeader + most}, bytes.options())),
        all_(torch::empty({ranks, kHeader + most}, bytes.options())) {
    const int64_t count = bytes.numel();
    own_.narrow(0, 0, kHeader).copy_(bytes_of(torch::tensor({count})));
    if (count <= most) own_.narrow(0, kHeader, count).copy_(bytes);
    Tensor flat = all_.flatten();
    begun_ = losing([&] { return backend._allgather_base(flat, own_); });
  }

  // Waits for all ranks, and returns how many bytes each has, int64 [ranks].
  Tensor counts() const {
    losing([&] { begun_->wait(); });
    return all_.narrow(1, 0, kHeader).contiguous().cpu().view(torch::kInt64).flatten();
  }

  // Returns the bytes of all ranks, one rank after the other.
  Tensor joined(const Tensor& counts) const {
    std::vector<Tensor> parts;
    for (int64_t r = 0; r < all_.size(0); ++r) {
      parts.push_back(all_[r].narrow(0, kHeader, counts[r].item<int64_t>()));
    }
    return torch::cat(parts);
  }

 private:
  Tensor own_, all_;
  c10::intrusive_ptr<c10d::Work> begun_;
};

// Views bytes as rows of the type and shape of `like`.
Tensor rows_of(const Tensor& bytes, const Tensor& like) {
  std::vector<int64_t> sizes = like.sizes().vec();
  sizes[0] = bytes.numel() /
             (like.element_size() * c10::multiply_integers(sizes.begin() + 1, sizes.end()));
  return bytes.view(like.scalar_type()).view(sizes);
}

}  // namespace

void require_own_gpus(const Tensor& uuids) {
  std::map<std::string, int64_t> owners;
  for (int64_t rank = 0; rank < uuids.size(0); ++rank) {
    const Tensor own = uuids[rank].cpu().contiguous();
    const std::string uuid(own.const_data_ptr<uint8_t>(),
                           own.const_data_ptr<uint8_t>() + own.numel());
    const auto [owner, first] = owners.emplace(uuid, rank);
    require_options(first,
                    "ranks {} and {} have the same GPU, but each rank needs its own; start fewer "
                    "ranks on the machine, or use `device` cpu",
                    owner->second, rank);
  }
}

struct ProcessGroup::Backends {
  Backend cpu, gpu;  // gpu: null if the ranks use CPUs

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
  require_options(with == 0 || with == size(),
                  "{} of {} ranks have a GPU, and rank {} has none; either all ranks need a GPU, "
                  "or `device` cpu is needed",
                  with, size(), gpus.argmin().item<int64_t>());
  if (with > 0) {
    require_own_gpus(gather(uuid_of_gpu(device)));
    torch::cuda::synchronize(device.index());
    backends_->gpu = nccl_backend(named("nccl"), place_);
  }
}

ProcessGroup::~ProcessGroup() = default;

Tensor ProcessGroup::sum(const Tensor& value) const {
  return all_reduce_async(value).get();
}

std::future<Tensor> ProcessGroup::all_reduce_async(const Tensor& value) const {
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

Tensor ProcessGroup::gather(const Tensor& rows) const {
  const Tensor bytes = bytes_of(rows);
  const Tensor first = bytes.is_cpu() ? bytes : torch::empty({bytes.numel()}, torch::kUInt8);
  const int64_t small = bytes.is_cpu() ? kFrame - kHeader : 0;
  const Frames frames(*backends_->cpu, first, small, size());
  const Tensor counts = frames.counts();
  const int64_t most = counts.max().item<int64_t>();
  if (bytes.is_cpu() && most <= small) return rows_of(frames.joined(counts), rows);
  const Frames all(backends_->of(bytes), bytes, most, size());
  return rows_of(all.joined(all.counts()), rows);
}

std::future<Tensor> ProcessGroup::all_gather_async(const Tensor& rows, int64_t most) const {
  const int64_t row = rows.element_size() * c10::multiply_integers(rows.sizes().slice(1));
  const Frames all(backends_->of(rows), bytes_of(rows), most * row, size());
  return std::async(std::launch::deferred,
                    [all, rows] { return rows_of(all.joined(all.counts()), rows); });
}

}  // namespace isinglass
