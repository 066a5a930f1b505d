// Implements the table of options without effect.
#include "lab/spec/idle.h"

#include <functional>
#include <vector>

#include "engine/registry.h"
#include "io/error.h"

namespace isinglass {
namespace {

const OptionValue* value_in(const OptionValues& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

std::string text_in(const OptionValues& values, const std::string& name) {
  const OptionValue* value = value_in(values, name);
  const auto* text = value ? std::get_if<std::string>(value) : nullptr;
  return text ? *text : "";
}

bool above_zero(const OptionValues& values, const std::string& name) {
  const OptionValue* value = value_in(values, name);
  const auto* whole = value ? std::get_if<int64_t>(value) : nullptr;
  return whole && *whole > 0;
}

// Returns the model that training takes, defaults included.
std::string trained_model(const OptionValues& values) {
  if (const std::string said = text_in(values, "model"); !said.empty()) return said;
  const std::string objective = text_in(values, "objective");
  const std::string sampler = text_in(values, "sampler");
  if (values.contains("bounds") ||
      (!sampler.empty() && find_sampler(sampler).kinds == std::vector{StateKind::kContinuous})) {
    return "mlp";
  }
  if (objective == "cd") return "rbm";
  if (objective == "nce") return "residual";
  return objective == "dsm" || objective == "classify" ? "mlp" : "resnet";
}

struct Idle {
  std::string command, option;
  std::function<bool(const OptionValues&)> used;
  std::string otherwise;  // Explains what the option goes with.
};

const std::vector<Idle>& table() {
  const auto has = [](const char* name) {
    return [name](const OptionValues& values) { return values.contains(name); };
  };
  // Training itself refuses all options of chains for objectives without chains, so that these
  // count as used here.
  const auto counts = [](const char* name) {
    return [name](const OptionValues& values) {
      const std::string objective = text_in(values, "objective");
      return above_zero(values, name) || !(objective.empty() || objective == "pcd");
    };
  };
  const auto scores = [](const OptionValues& values) {
    return !values.contains("evaluate-every") || above_zero(values, "evaluate-every") ||
           text_in(values, "objective") == "nce";
  };
  const auto trains = [](const char* model) {
    return [model](const OptionValues& values) { return trained_model(values) == model; };
  };
  const auto fetches = [](const OptionValues& values) {
    return text_in(values, "action") == "fetch";
  };
  const auto has_channels = [](const OptionValues& values) {
    const std::string model = trained_model(values);
    return model == "resnet" || (model == "residual" && text_in(values, "network") != "mlp");
  };
  const auto reads_data = [](const OptionValues& values) {
    return text_in(values, "init") == "data" || values.contains("instance") ||
           values.contains("inpaint");
  };
  static const std::vector<Idle> all = {
      {"train", "fresh-iters", counts("fresh"),
       "applies to the extra chains of `fresh`, but `fresh` is 0"},
      {"train", "evaluate-steps", scores,
       "applies to quick validation likelihoods, but `evaluate-every` is 0"},
      {"train", "channels", has_channels, "applies to a resnet, but `model` is another one"},
      {"train", "hidden", trains("rbm"), "applies to an rbm, but `model` is another one"},
      {"train", "data-dir", has("dataset"), "is the folder of `dataset`, which is not given"},
      {"data", "mirror", fetches, "is where `action` fetch looks first"},
      {"data", "patience", fetches, "is a time limit of `action` fetch"},
      {"sample", "dataset", reads_data,
       "applies to `init` data, to `inpaint`, or to an `instance` that is made of images"},
      {"sample", "inpaint-images", has("inpaint"), "counts the images of `inpaint`"},
      {"sample", "levels", has("dataset"),
       "applies to the images of `dataset`, which is not given"},
      {"sample", "data-dir", has("dataset"), "is the folder of `dataset`, which is not given"},
      {"evaluate", "levels", has("dataset"),
       "applies to the images of `dataset`, which is not given"},
      {"evaluate", "inpaint-images", has("inpaint"), "counts the images of `inpaint`"},
      {"evaluate", "data-dir", has("dataset"), "is the folder of `dataset`, which is not given"},
  };
  return all;
}

}  // namespace

void refuse_idle(const std::string& command, const OptionValues& given, const OptionValues& all) {
  for (const Idle& idle : table()) {
    if (idle.command != command || !given.contains(idle.option)) continue;
    require_options(idle.used(all), "`{}` would have no effect, because it {}", idle.option,
                    idle.otherwise);
  }
}

}  // namespace isinglass
