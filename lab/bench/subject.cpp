// Implements how a bench assembles its model, sampler, chains and stages.
#include "lab/bench/subject.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "io/error.h"
#include "lab/run/assemble.h"
#include "lab/run/memory.h"
#include "lab/run/tempering.h"
#include "lab/spec/field.h"

namespace isinglass {
namespace {

std::vector<std::string> split_at_commas(const std::string& list) {
  std::istringstream in(list);
  std::vector<std::string> names;
  for (std::string name; std::getline(in, name, ',');) names.push_back(name);
  return names;
}

}  // namespace

void check_stages(const BenchSpec& spec) {
  if (spec.stages.empty()) return;
  const std::vector<std::string> names = split_at_commas(spec.stages);
  require_options(std::any_of(names.begin(), names.end(), [](auto& n) { return !n.empty(); }),
                  "`stages` names no stage; known: {}", fmt::join(stage_names(), ", "));
  for (const std::string& name : names) {
    require_options(
        std::find(stage_names().begin(), stage_names().end(), name) != stage_names().end(),
        "`stages` names the unknown stage '{}'; known: {}", name,
        fmt::join(nearest_first(name, stage_names()), ", "));
  }
}

Bench::Bench(BenchSpec spec, torch::Device device, Stop stop)
    : spec_(std::move(spec)), device_(device) {
  check_stages(spec_);
  for (const auto& [said, name] :
       {std::pair{spec_.shape.channels, "channels"}, std::pair{spec_.shape.hidden, "hidden"}}) {
    require_options(spec_.model.weights.empty() || !said,
                    "`{}` is given, but `weights` already determines the model's size", name);
  }
  const NewModelOptions shape;
  if (!spec_.shape.channels) spec_.shape.channels = shape.channels;
  if (!spec_.shape.hidden) spec_.shape.hidden = shape.hidden;
  if (spec_.sampler.name.empty()) spec_.sampler.name = kDefaultSampler;
  spec_.model = resolved(spec_.model);
  model_ = loaded_or_new();
  sampler_ = sampler_of(spec_.sampler, *model_);
  spec_.sampler = resolved(spec_.sampler, *model_);
  // The factor 3 counts the buffers of the chains, of the annealed chains and of the clocked
  // stages.
  require_memory(3 * sampling_bytes(*model_, spec_.chains), device,
                 fmt::format("`chains` {}", spec_.chains));
  // The trainer needs an image of the model's sites: the spec's image, or one row if the model has
  // another size.
  const int64_t sites = model_->space().sites;
  const ImageSize image = spec_.model.image->height * spec_.model.image->width == sites
                              ? *spec_.model.image
                              : ImageSize{1, sites};
  subject_ = std::make_unique<BenchSubject>(
      BenchSubject{.model = *model_,
                   .sampler = *sampler_,
                   .trained = find_model(spec_.model.name).trainable() ? loaded_or_new() : nullptr,
                   .device = device,
                   .chains = spec_.chains,
                   .burn_in = spec_.burn_in,
                   .rungs = spec_.rungs,
                   .exploration = spec_.exploration.value_or(1),
                   .tempering = [this] { return tempering_of(spec_, *model_, device_); },
                   .image_height = image.height,
                   .image_width = image.width,
                   .steps_per_iteration = spec_.steps_per_iteration,
                   .seed = static_cast<uint64_t>(spec_.seed),
                   .cuda_graph = captures_steps(spec_.cuda_graph, *model_, *sampler_, device),
                   .stop = std::move(stop)});
}

std::shared_ptr<EnergyModel> Bench::loaded_or_new() const {
  require_given(!spec_.model.name.empty(), "model");
  const bool loads = !spec_.model.weights.empty() || !find_model(spec_.model.name).trainable();
  const std::shared_ptr<EnergyModel> model =
      loads ? model_of(spec_.model, device_, moves_continuous(spec_.sampler)) : new_one();
  set_gradient_precision(spec_.model, *model, device_);
  return model;
}

std::shared_ptr<EnergyModel> Bench::new_one() const {
  const std::string& name = spec_.model.name;
  for (const auto& [said, option] :
       {std::pair{spec_.model.sites, "sites"}, std::pair{spec_.model.categories, "categories"}}) {
    require_options(
        !said, "`{}` applies to a model from `weights`; `image` determines the size of a new {}",
        option, name);
  }
  const NewModelOptions shape{.image_height = spec_.model.image->height,
                              .image_width = spec_.model.image->width,
                              .channels = *spec_.shape.channels,
                              .hidden = *spec_.shape.hidden,
                              .continuous = moves_continuous(spec_.sampler)};
  const int64_t buffer = std::max(spec_.chains, PcdOptions().buffer);
  require_memory(
      training_bytes(name, shape, spec_.chains, buffer), device_,
      fmt::format("`image` {} `channels` {} `hidden` {} `chains` {}", text_of(*spec_.model.image),
                  shape.channels, shape.hidden, spec_.chains));
  std::shared_ptr<EnergyModel> made = new_model(name, shape, static_cast<uint64_t>(spec_.seed));
  made->to(device_);
  return made;
}

std::vector<Stage> Bench::stages() const {
  std::vector<std::string> chosen;
  for (const std::string& name :
       spec_.stages.empty() ? stage_names() : split_at_commas(spec_.stages)) {
    const auto reason = obstacle(name, *subject_);
    if (reason && spec_.stages.empty()) continue;
    require_options(!reason,
                    "`stages` names {}, which {} with sampler {} does not have, because {}", name,
                    spec_.model.name, spec_.sampler.name, reason.value_or(""));
    if (std::find(chosen.begin(), chosen.end(), name) == chosen.end()) chosen.push_back(name);
  }
  return make_stages(chosen, *subject_);
}

}  // namespace isinglass
