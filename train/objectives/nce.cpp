// Implements the objective of noise-contrastive estimation.
#include "train/objectives/nce.h"

#include <algorithm>
#include <cmath>

#include "engine/run/base_draws.h"
#include "io/error.h"
#include "io/picture.h"
#include "kernels/random/streams.h"

namespace isinglass {
namespace {

constexpr double kLeastCurvature = 1e-12;  // keeps a step finite

NceOptions checked(const NceOptions& o, EnergyModel& model, const Dataset& data,
                   int64_t iterations) {
  constexpr double kCounters = 4294967296.0;  // step numbers are 32-bit
  require(o.batch >= 1, "batch is {}; it must be at least 1", o.batch);
  require(o.sweeps >= 1, "steps per iteration is {}; it must be at least 1", o.sweeps);
  require(static_cast<double>(iterations) * static_cast<double>(o.sweeps) < kCounters,
          "iterations is {}; iterations times steps must be below 2^32", iterations);
  auto* residual = dynamic_cast<ResidualModel*>(&model);
  require_options(residual,
                  "`objective` nce trains the network of a residual model against its base, but "
                  "the model is '{}'",
                  model.kind_name());
  require_options(residual->base()->sweeps(),
                  "`objective` nce needs a base with Gibbs sweeps, which '{}' does not have",
                  residual->base()->kind_name());
  require(data.train.dim() == 2 && data.train.size(0) > 0,
          "the data set '{}' has no training images", data.name);
  require_complete(data, "`objective` nce");
  const StateSpace space = model.space(), own = data.space();
  require(space == own, "the states of '{}' are not those of the images of '{}'", model.kind_name(),
          data.name);
  return o;
}

}  // namespace

NceLoss nce_loss(ResidualModel& model, const torch::Tensor& data, const torch::Tensor& noise,
                 const torch::Tensor& constant) {
  const torch::AutoGradMode with_grad(true);
  const torch::Tensor g = model.correction(torch::cat({data, noise}));
  const torch::Tensor h = constant - g;
  const torch::Tensor of_data = h.narrow(0, 0, data.size(0));
  const torch::Tensor of_noise = h.narrow(0, data.size(0), noise.size(0));
  NceLoss result;
  result.loss = (torch::softplus(-of_data).mean() + torch::softplus(of_noise).mean()) / 2;

  const torch::NoGradGuard no_grad;
  const auto halves = [](const torch::Tensor& a, const torch::Tensor& b) {
    return (a.to(torch::kFloat64).mean() + b.to(torch::kFloat64).mean()) / 2;
  };
  result.accuracy = halves(of_data >= 0, of_noise < 0);
  result.at_data = of_data.mean();
  result.at_noise = of_noise.mean();
  const double c = model.bound();
  if (c > 0) {
    result.pressed = (g.abs() > c * std::tanh(0.5)).to(torch::kFloat64).mean();
  }
  const torch::Tensor p_data = torch::sigmoid(of_data), p_noise = torch::sigmoid(of_noise);
  result.slope = halves(p_data - 1, p_noise);
  result.curvature = halves(p_data * (1 - p_data), p_noise * (1 - p_noise));
  result.weight = torch::exp(of_noise - constant).mean();
  return result;
}

NceObjective::NceObjective(EnergyModel& model, const Dataset& data, const NceOptions& options,
                           int64_t iterations, torch::Device device, const Ranks& ranks)
    : options_(checked(options, model, data, iterations)),
      height_(data.height),
      width_(data.width),
      white_(static_cast<int>(data.white())),
      data_sha256_(data_sha256(data)),
      batches_(data, options.batch, options.seed, device),
      ranks_(ranks),
      share_(ranks, options.batch),
      numbers_(torch::arange(options.batch, torch::TensorOptions(torch::kInt64).device(device))),
      chains_(torch::zeros({options.batch, data.train.size(1)},
                           torch::TensorOptions(torch::kUInt8).device(device))),
      constant_(torch::zeros({}, torch::TensorOptions(torch::kFloat64).device(device))) {}

Batch NceObjective::draw(EnergyModel& model, int64_t iteration) {
  EnergyModel& base = *dynamic_cast<ResidualModel&>(model).base();
  const uint64_t key = stream_key(options_.seed, RandomStream::kTraining);
  const torch::Tensor numbers = share_.own.of(numbers_).contiguous();
  torch::Tensor noise =
      iteration == 1 ? base_draws(base, numbers, key) : share_.own.of(chains_).clone();
  sweep_base(base, numbers, key, (iteration - 1) * options_.sweeps, options_.sweeps, noise);
  Batch batch{.iteration = iteration, .data = batches_.states(iteration), .chains = noise};
  batch.all_chains = ranks_.all_gather_async(noise, share_.most);
  return batch;
}

Loss NceObjective::loss(EnergyModel& model, const Batch& batch) {
  const NceLoss own = nce_loss(dynamic_cast<ResidualModel&>(model), share_.own.of(batch.data),
                               batch.chains, constant_);
  const double weight = share_.weight;
  const torch::Tensor of_all =
      ranks_.sum(weight * torch::stack({own.slope, own.curvature, own.weight}));
  derivatives_ = of_all.narrow(0, 0, 2);
  const torch::Tensor loss = weight * own.loss;
  Loss result{loss,
              {{"loss", loss},
               {"accuracy", weight * own.accuracy},
               {"log_ratio_data", weight * own.at_data},
               {"log_ratio_noise", weight * own.at_noise},
               {"log_z_ratio", weight * of_all[2].log()}}};
  if (own.pressed.defined()) result.metrics.emplace_back("near_bound", weight * own.pressed);
  return result;
}

void NceObjective::update(const std::function<torch::Tensor()>& step) {
  const torch::Tensor skip = step();
  const torch::NoGradGuard no_grad;
  // Where h is far from 0 at all states, L'' is about 0, and the step has its largest length.
  const torch::Tensor change =
      (kGain * derivatives_[0] / derivatives_[1].clamp_min(kLeastCurvature)).clamp(-1, 1);
  constant_.sub_(torch::where(skip > 0, torch::zeros_like(change), change));
}

void NceObjective::keep(Batch batch) {
  chains_.copy_(batch.all_chains.get());
}

PtDict NceObjective::settings() const {
  return {{"objective", {std::string("nce")}},
          {"seed", {static_cast<int64_t>(options_.seed)}},
          {"batch", {options_.batch}},
          {"steps", {options_.sweeps}},
          {"data_images", {batches_.pixels().size(0)}},
          {"data_sites", {batches_.pixels().size(1)}},
          {"data_sha256", {data_sha256_}}};
}

void NceObjective::draw_data(const std::filesystem::path& file) {
  const int64_t count = std::min(kPictures, options_.batch);
  const torch::Tensor images = batches_.images(1).narrow(0, 0, count);
  write_picture_grid(file, batches_.pixels().index_select(0, images.to(batches_.pixels().device())),
                     height_, width_, kPictureColumns, 255 / white_);
}

}  // namespace isinglass
