// Implements the objective of persistent contrastive divergence.
#include "train/objectives/pcd_objective.h"

#include <algorithm>
#include <cmath>

#include "io/error.h"
#include "io/picture.h"
#include "io/settings.h"
#include "kernels/ops/random.h"
#include "kernels/random/streams.h"
#include "models/energies.h"
#include "train/checkpoint.h"

namespace isinglass {
namespace {

// These are the names of the tensors in checkpoints.
constexpr const char *kRungs = "rungs", *kFresh = "fresh", *kFreshBegun = "fresh-begun",
                     *kMissing = "missing", *kStepSize = "step-size";

void check_fit(const EnergyModel& model, const Dataset& data) {
  require(data.train.dim() == 2 && data.train.size(0) > 0,
          "the data set '{}' has no training images", data.name);
  const StateSpace space = model.space(), own = data.space();
  require(space.kind == own.kind && (space.categories == own.categories || !space.discrete()),
          "training on '{}' needs a model of {}, which '{}' is not", data.name,
          own.one_hot()    ? fmt::format("categorical states of {} values", own.categories)
          : own.discrete() ? "binary states"
                           : "continuous states",
          model.kind_name());
  require(own.sites == space.sites, "the model has {} sites, but the {} of '{}' have {} {}",
          space.sites, own.discrete() ? "images" : "points", data.name, data.train.size(1),
          own.discrete() ? "pixels" : "coordinates");
  if (const std::optional<Bounds> bounds = bounds_of(model)) {
    require_within(*bounds, data.train, fmt::format("the data of '{}'", data.name));
  }
}

// Returns a pointer to the model that does not own it.
std::shared_ptr<EnergyModel> view_of(EnergyModel& model) {
  return {std::shared_ptr<void>(), &model};
}

// Returns the distribution from which chains start: that of independent sites for discrete data. On
// continuous sites it is uniform within the bounds of the space; without bounds it is normal, with
// the mean and the standard deviation of every coordinate of the data.
BaseDistribution base_of(const EnergyModel& model, const Dataset& data, torch::Device device) {
  const StateSpace space = model.space();
  if (space.discrete()) return {clamped_mean(data).to(device)};
  if (const std::optional<Bounds> bounds = bounds_of(model)) {
    return BaseDistribution::uniform(space.sites, *bounds, device);
  }
  const torch::Tensor x = data.train.to(torch::kFloat64);
  return BaseDistribution::normal(x.mean(0).to(device), x.std(0, /*unbiased=*/false).to(device));
}

PcdOptions checked(const PcdOptions& o, int64_t iterations, const EnergyModel& model,
                   const Dataset& data) {
  constexpr double kCounters = 4294967296.0;  // step numbers are 32-bit
  require(o.batch >= 1, "batch is {}; it must be at least 1", o.batch);
  require(o.buffer >= o.batch, "buffer is {}; it must hold at least one batch, {}", o.buffer,
          o.batch);
  require(o.steps >= 1, "steps per iteration is {}; it must be at least 1", o.steps);
  require_options(o.steps_end == 0 || o.steps_end >= o.steps,
                  "`steps-end` is {}; it must be at least `steps-per-iter`, {}", o.steps_end,
                  o.steps);
  require_options(!o.lag || (!o.from_data && o.rungs == 0 && o.fresh == 0 && o.reinit == 0),
                  "`lr-control` lag follows chains that persist; `objective` cd, `rungs`, `fresh` "
                  "and `reinit` replace them");
  require(static_cast<double>(iterations) * static_cast<double>(most_steps(o)) < kCounters,
          "iterations is {}; iterations times steps must be below 2^32", iterations);
  require(o.reinit >= 0 && o.reinit <= 1, "reinit is {}; it must be a probability from 0 to 1",
          o.reinit);
  require(o.rungs >= 0, "rungs is {}; it must be 0 or more", o.rungs);
  require(o.fresh >= 0 && o.fresh <= o.batch,
          "fresh is {}; it must be from 0 to the size of the batch, {}", o.fresh, o.batch);
  require(o.fresh_iterations >= 1, "fresh-iters is {}; it must be 1 or more", o.fresh_iterations);
  require_options(o.fresh == 0 || !o.from_data,
                  "`fresh` requires persistent chains, which `objective` cd does not have");
  require_options(o.rungs == 0 || !o.from_data,
                  "`rungs` requires persistent chains, which `objective` cd does not have");
  require(std::isfinite(o.l2) && o.l2 >= 0, "l2 is {}; it must be 0 or more", o.l2);
  require(std::isfinite(o.p_control) && o.p_control >= 0, "p-control is {}; it must be 0 or more",
          o.p_control);
  require(std::isfinite(o.l1) && o.l1 >= 0, "l1 is {}; it must be 0 or more", o.l1);
  require(std::isfinite(o.data_noise) && o.data_noise >= 0,
          "data-noise is {}; it must be 0 or more", o.data_noise);
  const bool discrete = model.space().discrete();
  require_options(o.data_noise == 0 || !discrete,
                  "`data-noise` is added to continuous states, which '{}' does not have",
                  model.kind_name());
  require_options((o.rungs == 0 && o.fresh == 0) || discrete || bounds_of(model),
                  "`{}` needs `bounds`, within which chains start at uniform states",
                  o.rungs > 0 ? "rungs" : "fresh");
  require_options(o.l1 == 0 || dynamic_cast<const IsingModel*>(&model),
                  "`l1` penalises the couplings of an ising model, but the model is '{}'",
                  model.kind_name());
  check_fit(model, data);
  return o;
}

}  // namespace

PcdObjective::PcdObjective(EnergyModel& model, const Sampler& sampler, const Dataset& data,
                           const PcdOptions& options, int64_t iterations, torch::Device device,
                           const Ranks& ranks)
    : PcdObjective(model, sampler, data, with_drawn_values(data, options.seed), options, iterations,
                   device, ranks) {}

PcdObjective::PcdObjective(EnergyModel& model, const Sampler& sampler, const Dataset& data,
                           const Dataset& drawn, const PcdOptions& options, int64_t iterations,
                           torch::Device device, const Ranks& ranks)
    : bounded_(options.bounds ? std::make_shared<BoundedModel>(view_of(model), *options.bounds)
                              : nullptr),
      options_(checked(options, iterations, sampled(model), data)),
      bounds_(bounds_of(sampled(model))),
      sampler_(sampler),
      sampling_(sampler, options_, device, iterations),
      values_(data.space().categories),
      white_(data.white()),
      height_(data.height),
      width_(data.width),
      data_sha256_(data_sha256(data)),
      batches_(drawn, options.batch, options.seed, device),
      buffer_(base_of(sampled(model), data, device), options.buffer, options.seed),
      ranks_(ranks),
      share_(ranks, options.batch),
      signals_(drawn, options, device) {
  if (data.missing.defined()) {
    require(ranks.size() == 1,
            "missing values of training images require a single process, but there are {} ranks",
            ranks.size());
    missing_.emplace(data, drawn, options.steps, options.seed, device);
  }
  if (options.begin_at_data) begin_at_data(iterations);
  const auto* learned = dynamic_cast<const IsingModel*>(&model);
  const auto* truth = dynamic_cast<const IsingModel*>(data.drawn_from.get());
  if (learned && truth) coupling_error_.emplace(*learned, *truth);
  const uint64_t key = stream_key(options.seed, RandomStream::kTraining);
  if (options.rungs > 0) {
    require_options(ranks.size() == 1, "`rungs` requires a single process, but there are {} ranks",
                    ranks.size());
    rungs_.emplace(sampled(model), options.rungs, options.batch + options.fresh, options.buffer,
                   key, device);
  }
  if (options.fresh > 0) {
    require_options(ranks.size() == 1, "`fresh` requires a single process, but there are {} ranks",
                    ranks.size());
    fresh_.emplace(sampled(model), options.fresh, options.fresh_iterations,
                   options.buffer + options.rungs, key, device);
  }
  if (options.lag) lag_.emplace(options.buffer, device);
  if (!options.centre) return;
  const auto* machine = dynamic_cast<const RbmModel*>(&model);
  require_options(
      machine && !model.space().one_hot(),
      "`centre` requires an rbm of binary units, but the model is '{}' with {} values per unit",
      model.kind_name(), model.space().categories);
  centring_.emplace(*machine, clamped_mean(data));
}

// Uses the batches of iterations after the end of the training, so that no chain starts at a batch
// that the training uses.
void PcdObjective::begin_at_data(int64_t iterations) {
  const int64_t size = buffer_.size();
  for (int64_t first = 0, t = iterations + 1; first < size; first += options_.batch, ++t) {
    const int64_t count = std::min(options_.batch, size - first);
    buffer_.states().narrow(0, first, count).copy_(batches_.states(t).narrow(0, 0, count));
  }
}

torch::Tensor PcdObjective::data_of(EnergyModel& model, int64_t iteration) {
  torch::Tensor data = batches_.states(iteration);
  if (missing_) return missing_->fill(model, batches_.images(iteration), data, iteration);
  if (options_.data_noise == 0) return data;
  torch::Tensor noise = torch::empty_like(data), none;
  ops::normal_rows(torch::arange(data.size(0), noise.options().dtype(torch::kInt64)),
                   static_cast<int64_t>(stream_key(options_.seed, RandomStream::kTraining)),
                   iteration, Purpose::kScoreNoise, noise);
  data.add_(noise, options_.data_noise);
  if (bounds_) reflect(*bounds_, data, none);
  return data;
}

Batch PcdObjective::draw(EnergyModel& model, int64_t iteration) {
  // This is done before the steps, because an upload waits for the kernels already queued.
  const torch::Tensor data = data_of(model, iteration);
  if (!data_.defined()) data_ = torch::empty_like(data);
  data_.copy_(data);
  Batch batch{.iteration = iteration, .data = data_};
  torch::Tensor starts;
  if (options_.from_data) {
    starts = data_;
    batch.slots = torch::arange(options_.batch, starts.options().dtype(torch::kInt64));
  } else {
    batch.slots = buffer_.draw_slots(options_.batch, iteration);
    starts = buffer_.chains(batch.slots, options_.reinit, iteration);
  }
  signals_.update(model, buffer_, batch.slots, iteration);
  batch.metrics = signals_.seen();
  starts = share_.own.of(starts).contiguous();
  torch::Tensor numbers = share_.own.of(batch.slots).contiguous();
  if (fresh_) {
    starts = fresh_->starts(starts, iteration);
    numbers = fresh_->numbers(numbers);
  }
  if (rungs_) {
    starts = rungs_->starts(starts, iteration);
    numbers = rungs_->numbers(numbers);
  }
  int64_t sent = share_.own.count;
  const bool adapts = sampler_.adapts();
  torch::Tensor of_chains, before, after;
  try {
    PcdChains moved =
        sampling_.advance(rungs_ ? rungs_->model() : sampled(model), starts, numbers, iteration);
    if (rungs_) rungs_->swap(moved.states, sampling_.evaluation(), iteration);
    if (fresh_) fresh_->keep(moved.states.narrow(0, options_.batch, options_.fresh));
    batch.chains = moved.states.narrow(0, 0, share_.own.count);
    batch.acceptance = moved.acceptance;
    batch.hops = moved.hops;
    of_chains = moved.of_chains;
    before = moved.before;
    after = moved.after;
  } catch (const NumericalError& failure) {
    if (ranks_.size() == 1) throw;
    batch.failure = failure.what();  // this rank goes on, as the others wait for its gradients
    batch.chains = starts;
    batch.acceptance = batch.hops = torch::zeros({}, torch::kFloat64).to(starts.device());
    if (adapts) of_chains = torch::zeros({sent, 2}, sampling_.step_size().options());
    if (lag_) before = after = torch::zeros({sent}, lag_->share().options());
    sent = 0;
  }
  if (adapts) sampling_.adapt(ranks_.mean(of_chains), iteration);
  if (lag_) {
    lag_->measure(batch.slots, ranks_.gather(before));
    left_ = ranks_.gather(after);
    batch.pause = lag_->pause();
    batch.metrics.emplace_back("rate_factor", lag_->factor());
  }
  batch.all_chains = ranks_.all_gather_async(batch.chains.narrow(0, 0, sent), share_.most);
  return batch;
}

Loss PcdObjective::loss(EnergyModel& model, const Batch& batch) {
  if (centring_) centring_->follow(batch.data);
  const PcdLoss loss = pcd_loss(model, share_.own.of(batch.data), batch.chains, options_);
  const double weight = share_.weight;
  Loss result{weight * loss.loss,
              {{"energy_data", weight * loss.energy_data},
               {"energy_model", weight * loss.energy_model},
               {"difference", weight * (loss.energy_data - loss.energy_model)},
               {"acceptance", weight * batch.acceptance},
               {"hops", weight * batch.hops}},
              {{"data", loss.of_data}, {"chains", loss.of_chains}}};
  if (sampler_.adapts()) result.metrics.emplace_back("step_size", weight * sampling_.step_size());
  if (lag_) result.metrics.emplace_back("lag_share", weight * lag_->share());
  if (rungs_) result.metrics.emplace_back("swaps", rungs_->accepted());
  if (coupling_error_)
    result.metrics.emplace_back("coupling_rmse", weight * coupling_error_->rmse());
  return result;
}

void PcdObjective::update(const std::function<torch::Tensor()>& step) {
  if (centring_) centring_->before_step();
  const torch::Tensor skip = step();
  if (centring_) centring_->after_step(skip);
}

// The work cannot be captured for categorical states, because the gradient of an embedding lookup
// synchronises with the device, nor with p_control, which differentiates a gradient.
bool PcdObjective::capturable(const EnergyModel& model) const {
  return options_.cuda_graph && model.reads_parameters_in_place() && !model.space().one_hot() &&
         options_.p_control == 0 && ranks_.size() == 1 && !centring_ && !coupling_error_;
}

void PcdObjective::keep(Batch batch) {
  const torch::Tensor all = batch.all_chains.get();
  if (all.size(0) < options_.batch) {
    throw NumericalError(batch.failure.empty()
                             ? "chains of another rank have values that are not finite"
                             : batch.failure);
  }
  buffer_.write_back(batch.slots, all);
  if (lag_) lag_->keep(batch.slots, left_);
}

void PcdObjective::follow(const Metrics& metrics) {
  if (lag_) lag_->follow(metrics.find("lag_share").value());
}

NamedTensors PcdObjective::saved_state() const {
  NamedTensors all = offsets_and_chains();
  const NamedTensors signals = signals_.saved_state();
  all.insert(all.end(), signals.begin(), signals.end());
  return all;
}

NamedTensors PcdObjective::offsets_and_chains() const {
  NamedTensors all = centring_ ? centring_->offsets() : NamedTensors();
  if (sampler_.adapts()) all.push_back({kStepSize, sampling_.step_size()});
  if (lag_) {
    for (const auto& one : lag_->saved_state()) all.push_back(one);
  }
  if (rungs_) all.push_back({kRungs, rungs_->states()});
  if (fresh_) {
    all.push_back({kFresh, fresh_->states()});
    all.push_back({kFreshBegun, fresh_->begun()});
  }
  if (missing_) all.push_back({kMissing, missing_->values()});
  return all;
}

// A resumed run may have tempered or fresh chains that the checkpoint lacks, or none where it has
// some, or another number of them. They then restart.
void PcdObjective::load_state(const NamedTensors& saved, const std::string& file) {
  NamedTensors own = offsets_and_chains(), theirs = saved;
  signals_.load_state(theirs, file);
  for (const std::string name : {kRungs, kFresh, kFreshBegun}) {
    const auto in = [&name](const NamedTensors& all) {
      return std::find_if(all.begin(), all.end(), [&](const auto& t) { return t.first == name; });
    };
    const auto mine = in(own), found = in(theirs);
    if (mine != own.end() && found != theirs.end() &&
        mine->second.sizes() == found->second.sizes()) {
      continue;
    }
    if (found != theirs.end()) theirs.erase(found);
    if (mine == own.end()) continue;
    own.erase(mine);
    name == kRungs ? rungs_->begin() : fresh_->begin();
  }
  copy_tensors(theirs, own, file);
  if (missing_) missing_->restore(own.back().second);
}

void PcdObjective::repair(EnergyModel& model, int64_t recovery) {
  const torch::Tensor energy = energies(model, buffer_.states(), buffer_.states().device());
  buffer_.reinitialise(torch::isfinite(energy).logical_not().nonzero().flatten(), recovery);
  if (lag_) lag_->forget();
  if (rungs_) rungs_->repair(recovery);
  if (fresh_) fresh_->repair(model, recovery);
  if (missing_) missing_->repair(model, recovery);
}

std::optional<Scale> PcdObjective::step_size() const {
  const std::vector<Scale> scales = sampler_.scales();
  if (scales.size() != 1 || !sampler_.is_metropolis() || !sampler_.exact()) return {};
  if (sampler_.adapts()) return {};  // it follows the acceptance by itself
  return scales.front();
}

PtDict PcdObjective::settings() const {
  PtDict all = {{"objective", {std::string(options_.from_data ? "cd" : "pcd")}},
                {"sampler", {sampler_.name()}},
                {"sampler_options", {settings_text(sampler_.settings())}},
                {"seed", {static_cast<int64_t>(options_.seed)}},
                {"batch", {options_.batch}},
                {"steps", {options_.steps}},
                {"buffer", {buffer_.size()}},
                {"reinit", {options_.reinit}},
                {"l2", {options_.l2}},
                {"p_control", {options_.p_control}},
                {"centre", {options_.centre}},
                {"data_images", {batches_.pixels().size(0)}},
                {"data_sites", {batches_.pixels().size(1)}},
                {"data_sha256", {data_sha256_}}};
  if (options_.lag) all.push_back({"lr_control", {std::string("lag")}});
  if (options_.steps_end > 0) all.push_back({"steps_end", {options_.steps_end}});
  if (options_.l1 > 0) all.push_back({"l1", {options_.l1}});
  if (options_.data_noise > 0) all.push_back({"data_noise", {options_.data_noise}});
  if (bounds_) {
    all.push_back({"low", {bounds_->low}});
    all.push_back({"high", {bounds_->high}});
  }
  return all;
}

void PcdObjective::draw_data(const std::filesystem::path& file) {
  const int64_t count = std::min(kPictures, options_.batch);
  const torch::Tensor first = batches_.images(1).narrow(0, 0, count).to(batches_.pixels().device());
  torch::Tensor grey = batches_.pixels().index_select(0, first);
  if (grey.is_floating_point()) return draw_real(file, grey);
  grey = grey * (255 / white_);
  if (missing_) grey.masked_fill_(missing_->missing().index_select(0, first), 128);
  write_picture_grid(file, grey, height_, width_, kPictureColumns, /*scale=*/1);
}

void PcdObjective::draw_samples(EnergyModel&, const std::filesystem::path& file) {
  const int64_t count = std::min(kPictures, buffer_.size());
  const torch::Tensor chains = buffer_.states().narrow(0, 0, count);
  if (chains.is_floating_point()) return draw_real(file, chains);
  write_picture_grid(file, chains, height_, width_, kPictureColumns,
                     255 / static_cast<int>(values_ - 1));
}

// Draws states within bounds as grey levels from the lower to the upper one, other states as those
// from 0 to 1. Points of one row are not images.
void PcdObjective::draw_real(const std::filesystem::path& file, const torch::Tensor& states) const {
  if (height_ == 1) return;
  const Bounds range = bounds_.value_or(Bounds{});
  write_picture_grid(file, ((states - range.low) / (range.high - range.low)).clamp(0, 1), height_,
                     width_, kPictureColumns);
}

}  // namespace isinglass
