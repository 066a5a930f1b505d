// See recorder.h.
#include "engine/observers/recorder.h"

#include "io/error.h"

namespace isinglass {

double Recorder::Shape::bytes() const {
  return static_cast<double>(draws) * static_cast<double>(chains) * static_cast<double>(sites) *
         static_cast<double>(c10::elementSize(type));
}

Recorder::Recorder(const Shape& shape, Statistic statistic, bool keep_samples,
                   std::filesystem::path file)
    : shape_(shape), statistic_(std::move(statistic)), file_(std::move(file)) {
  energy_ = torch::empty({shape.draws, shape.chains}, torch::kFloat64);
  if (statistic_) values_ = torch::empty_like(energy_);
  if (keep_samples) samples_ = storage(shape.draws);
}

Recorder::~Recorder() {
  std::error_code ignored;
  if (!file_.empty()) std::filesystem::remove(file_, ignored);
}

void Recorder::on_draw(int64_t draw, const ChainState& state) {
  energy_[draw].copy_(state.current.untempered());
  if (statistic_) values_[draw].copy_(statistic_(state));
  if (samples_.defined()) samples_[draw].copy_(state.x);
  made_ = draw + 1;
}

torch::Tensor Recorder::samples() const {
  if (made_ == shape_.draws) return samples_;
  return file_.empty() ? samples_.narrow(0, 0, made_) : storage(made_);
}

torch::Tensor Recorder::storage(int64_t draws) const {
  const int64_t sizes[] = {draws, shape_.chains, shape_.sites};
  if (file_.empty()) return torch::empty(sizes, shape_.type);
  const int64_t count = draws * shape_.chains * shape_.sites;
  try {
    return torch::from_file(file_.string(), /*shared=*/true, count, shape_.type).view(sizes);
  } catch (const c10::Error& error) {
    fail("{}: {}", file_.string(), error.what_without_backtrace());
  }
}

}  // namespace isinglass
