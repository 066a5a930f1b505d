// Implements the classification objective.
#include "train/objectives/classify.h"

#include "io/error.h"
#include "io/sha256.h"
#include "models/network/classifier.h"

namespace isinglass {
namespace {

ClassifyOptions checked(const ClassifyOptions& o, const EnergyModel& model, const Dataset& data,
                        const torch::Tensor& labels) {
  require(o.batch >= 1, "batch is {}; it must be at least 1", o.batch);
  require(dynamic_cast<const HasLogits*>(&model), "model {} is not a classifier; an mlp can be one",
          model.kind_name());
  require(data.train.size(1) == model.space().sites,
          "the model has {} sites, but the images of '{}' have {} pixels", model.space().sites,
          data.name, data.train.size(1));
  require_labels(labels, data.train.size(0), data.name);
  return o;
}

}  // namespace

ClassifyObjective::ClassifyObjective(const EnergyModel& model, const Dataset& data,
                                     const torch::Tensor& labels, const ClassifyOptions& options,
                                     torch::Device device, const Ranks& ranks)
    : options_(checked(options, model, data, labels)),
      height_(data.height),
      width_(data.width),
      data_sha256_(data_sha256(data)),
      batches_(data, options.batch, options.seed, device),
      labels_(labels.to(device)),
      classes_(labels.max().item<int64_t>() + 1),
      share_(ranks, options.batch) {}

Batch ClassifyObjective::draw(EnergyModel&, int64_t iteration) {
  const torch::Tensor images = batches_.images(iteration).to(labels_.device());
  return {.iteration = iteration,
          .data = batches_.states(iteration),
          .targets = labels_.index_select(0, images)};
}

Loss ClassifyObjective::loss(EnergyModel& model, const Batch& batch) {
  torch::AutoGradMode with_grad(true);
  const torch::Tensor classes = share_.own.of(batch.targets);
  const torch::Tensor logits = dynamic_cast<HasLogits&>(model).logits(share_.own.of(batch.data));
  require(logits.size(1) >= classes_, "the model has {} classes, but the labels have {}",
          logits.size(1), classes_);
  const torch::Tensor loss =
      share_.weight * torch::cross_entropy_loss(logits, classes).to(torch::kFloat64);
  return {loss, {{"loss", loss}}};
}

PtDict ClassifyObjective::settings() const {
  return {{"objective", {std::string("classify")}},
          {"seed", {static_cast<int64_t>(options_.seed)}},
          {"batch", {options_.batch}},
          {"data_points", {batches_.pixels().size(0)}},
          {"data_sites", {batches_.pixels().size(1)}},
          {"data_sha256", {data_sha256_}},
          {"labels_sha256", {sha256({{"labels", labels_}})}}};
}

torch::Tensor ClassifyObjective::chains() const {
  return torch::empty({0, batches_.pixels().size(1)}, torch::kUInt8);
}

void ClassifyObjective::draw_data(const std::filesystem::path& file) {
  draw_images(file, batches_.states(1), height_, width_);
}

}  // namespace isinglass
