// Implements the denoising score matching objective.
#include "train/objectives/dsm.h"

#include <cmath>

#include "io/error.h"
#include "kernels/ops/random.h"
#include "kernels/random/streams.h"

namespace isinglass {
namespace {

DsmOptions checked(const DsmOptions& o, const EnergyModel& model, const Dataset& data) {
  require(o.batch >= 1, "batch is {}; it must be at least 1", o.batch);
  require(std::isfinite(o.noise) && o.noise > 0, "noise is {}; it must be above 0", o.noise);
  const StateSpace space = model.space();
  require(
      !space.discrete(),
      "score matching requires a model with continuous states, but the states of '{}' are discrete",
      model.kind_name());
  require(data.train.dim() == 2 && data.train.size(0) > 0, "the data set '{}' has no points",
          data.name);
  require(data.train.size(1) == space.sites,
          "the model has {} sites, but the points of '{}' have {} coordinates", space.sites,
          data.name, data.train.size(1));
  return o;
}

}  // namespace

torch::Tensor dsm_loss(EnergyModel& model, const torch::Tensor& points, const torch::Tensor& noise,
                       double sigma) {
  torch::AutoGradMode with_grad(true);
  const torch::Tensor x = (points + sigma * noise).requires_grad_(true);
  const torch::Tensor gradient =
      torch::autograd::grad({model.energy(x).sum()}, {x}, {}, /*retain_graph=*/true,
                            /*create_graph=*/true)[0];
  const torch::Tensor residual = noise / sigma - gradient;
  return residual.to(torch::kFloat64).square().sum() / static_cast<double>(points.size(0));
}

DsmObjective::DsmObjective(const EnergyModel& model, const Dataset& data, const DsmOptions& options,
                           torch::Device device, const Ranks& ranks)
    : options_(checked(options, model, data)),
      height_(data.height),
      width_(data.width),
      data_sha256_(data_sha256(data)),
      batches_(data, options.batch, options.seed, device),
      share_(ranks, options.batch) {}

torch::Tensor DsmObjective::noise(int64_t iteration) const {
  const auto device = torch::TensorOptions().device(batches_.pixels().device());
  torch::Tensor noise =
      torch::empty({options_.batch, batches_.pixels().size(1)}, device.dtype(torch::kFloat32));
  ops::normal_rows(torch::arange(options_.batch, device.dtype(torch::kInt64)),
                   static_cast<int64_t>(stream_key(options_.seed, RandomStream::kTraining)),
                   iteration, Purpose::kScoreNoise, noise);
  return noise;
}

Batch DsmObjective::draw(EnergyModel&, int64_t iteration) {
  return {.iteration = iteration, .data = batches_.states(iteration), .targets = noise(iteration)};
}

Loss DsmObjective::loss(EnergyModel& model, const Batch& batch) {
  const torch::Tensor loss = share_.weight * dsm_loss(model, share_.own.of(batch.data),
                                                      share_.own.of(batch.targets), options_.noise);
  return {loss, {{"loss", loss}}};
}

PtDict DsmObjective::settings() const {
  return {{"objective", {std::string("dsm")}},
          {"seed", {static_cast<int64_t>(options_.seed)}},
          {"batch", {options_.batch}},
          {"noise", {options_.noise}},
          {"data_points", {batches_.pixels().size(0)}},
          {"data_sites", {batches_.pixels().size(1)}},
          {"data_sha256", {data_sha256_}}};
}

torch::Tensor DsmObjective::chains() const {
  return torch::empty({0, batches_.pixels().size(1)}, torch::kUInt8);
}

void DsmObjective::draw_data(const std::filesystem::path& file) {
  draw_images(file, batches_.states(1), height_, width_);
}

void DsmObjective::draw_samples(EnergyModel& model, const std::filesystem::path& file) {
  const double sigma = options_.noise;
  const torch::Tensor noisy = (batches_.states(1) + sigma * noise(1)).slice(0, 0, kPictures);
  const torch::Tensor gradient = model.energy_and_grad(noisy).gradient;
  draw_images(file, noisy - sigma * sigma * gradient, height_, width_);
}

}  // namespace isinglass
