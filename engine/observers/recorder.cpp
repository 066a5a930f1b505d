// Implements the recorder of draws.
#include "engine/observers/recorder.h"

#include "engine/diagnostics/ties.h"
#include "io/error.h"
#include "io/pt/entries.h"

namespace isinglass {

double Recorder::Shape::bytes() const {
  return static_cast<double>(draws) * static_cast<double>(chains) * static_cast<double>(sites) *
         static_cast<double>(c10::elementSize(type));
}

Recorder::Recorder(const Shape& shape, Statistic statistic, bool keep_samples,
                   std::filesystem::path file, const Ranks& ranks, Refresh refresh)
    : shape_(shape),
      statistic_(std::move(statistic)),
      file_(std::move(file)),
      ranks_(&ranks),
      refresh_(refresh) {
  const auto numbers = [&] {
    const auto place = ranks.is_rank0() ? torch::kCPU : torch::kMeta;
    return GatheredDraws(
        torch::empty({shape.draws, shape.chains}, torch::device(place).dtype(torch::kFloat64)),
        ranks);
  };
  energy_ = numbers();
  if (statistic_) values_ = numbers();
  if (!keep_samples) return;
  samples_ =
      GatheredDraws(ranks.is_rank0() ? storage(shape.draws)
                                     : torch::empty({shape.draws, shape.chains, shape.sites},
                                                    torch::device(torch::kMeta).dtype(shape.type)),
                    ranks);
}

Recorder::~Recorder() {
  std::error_code ignored;
  if (!file_.empty()) std::filesystem::remove(file_, ignored);
}

void Recorder::evaluate(const ChainState& state) {
  refresh_.target->evaluate_energy(state.x, fresh_);
  refresh_.target->flush_energy(state.x, fresh_);
  correction_ = fresh_.untempered() - state.current.untempered();
  carried_ = carried_ || correction_.any().item<bool>();
}

void Recorder::on_draw(int64_t draw, const ChainState& state) {
  const bool renews = draw % refresh_.every == 0 || draw + 1 == shape_.draws;
  if (refresh_.target && renews) evaluate(state);
  const torch::Tensor& energy = state.current.untempered();
  energy_.put(carried_ ? energy + correction_ : energy);
  if (statistic_) values_.put(statistic_(state));
  if (samples_.all().defined()) samples_.put(state.x);
  made_ = draw + 1;
}

void Recorder::on_save() {
  energy_.finish();
  values_.finish();
  samples_.finish();
}

void Recorder::on_end() {
  on_save();
  if (!refresh_.target || !ranks_->any(carried_) || !ranks_->is_rank0() || made_ == 0) return;
  const torch::Tensor kept = energy();
  kept.copy_(merge_ties(kept, tie_width(kept, kCarriedRounding)));
}

PtDict Recorder::saved(int64_t first) const {
  PtDict dict;
  const auto rows = [&](const GatheredDraws& draws) {
    return draws.all().narrow(0, first, made_ - first);
  };
  put(dict, "first", first);
  if (samples_.all().defined()) put(dict, "samples", rows(samples_));
  put(dict, "energy", rows(energy_));
  if (statistic_) put(dict, "statistic", rows(values_));
  return dict;
}

void Recorder::restore(int64_t draws, const PtDict& saved, const std::string& file) {
  const PtEntries entries(saved, file);
  const auto restore = [&](GatheredDraws& own, const char* name) {
    const torch::Tensor& all = own.all();
    torch::Tensor rows = all.narrow(0, 0, 0);
    if (!saved.empty()) rows = entries.tensor(name);
    require(rows.dim() == all.dim() && rows.sizes().slice(1) == all.sizes().slice(1) &&
                rows.scalar_type() == all.scalar_type() && draws <= shape_.draws &&
                (saved.empty() || made_ + rows.size(0) == draws),
            "{} holds the draws of another run", file);
    own.restore(draws, rows);
  };
  require(saved.empty() || entries.integer("first") == made_,
          "{} does not begin at draw {}, where the run continues", file, made_);
  if (samples_.all().defined()) restore(samples_, "samples");
  restore(energy_, "energy");
  if (statistic_) restore(values_, "statistic");
  made_ = draws;
}

torch::Tensor Recorder::saved_correction() const {
  if (!refresh_.target || !ranks_->any(carried_)) return {};
  return ranks_->gather(correction_).cpu();
}

void Recorder::restore_correction(const torch::Tensor& own) {
  correction_ = own.clone();
  carried_ = true;
}

torch::Tensor Recorder::samples() const {
  if (made_ == shape_.draws) return samples_.all();
  return file_.empty() ? samples_.all().narrow(0, 0, made_) : storage(made_);
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
