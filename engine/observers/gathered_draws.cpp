// Implements the collection of draws on rank 0.
#include "engine/observers/gathered_draws.h"

#include <algorithm>

namespace isinglass {
namespace {

constexpr int64_t kBlockBytes = 16 << 20;  // size of a block, with the chains of all ranks [bytes]

}  // namespace

void GatheredDraws::put(const torch::Tensor& rows) {
  if (ranks_->size() == 1 && rows.is_cpu()) {
    all_[done_++].copy_(rows);
    return;
  }
  if (!block_.defined()) {
    const int64_t a_draw = all_.numel() / all_.size(0) * all_.element_size();
    std::vector<int64_t> sizes = rows.sizes().vec();
    sizes.insert(sizes.begin(), std::clamp<int64_t>(kBlockBytes / a_draw, 1, all_.size(0)));
    block_ = torch::empty(sizes, rows.options().dtype(all_.scalar_type()));
  }
  block_[waiting_++].copy_(rows);
  if (waiting_ == block_.size(0)) finish();
}

void GatheredDraws::finish() {
  if (waiting_ == 0) return;
  const torch::Tensor rows = block_.narrow(0, 0, waiting_);
  if (ranks_->size() == 1) {
    all_.narrow(0, done_, waiting_).copy_(rows);
  } else {
    const torch::Tensor all = ranks_->gather(rows.to(torch::kCPU).transpose(0, 1).contiguous());
    if (ranks_->is_rank0()) all_.narrow(0, done_, waiting_).copy_(all.transpose(0, 1));
  }
  done_ += waiting_;
  waiting_ = 0;
}

void GatheredDraws::restore(int64_t draws, const torch::Tensor& rows) {
  if (ranks_->is_rank0()) all_.narrow(0, draws - rows.size(0), rows.size(0)).copy_(rows);
  done_ = draws;
}

}  // namespace isinglass
