// Implements reading and writing of checkpoints.
#include "train/checkpoint.h"

#include <algorithm>

#include "io/settings.h"

namespace isinglass {
namespace {

constexpr int64_t kFormatVersion = 4;

PtDict to_dict(const NamedTensors& tensors) {
  PtDict dict;
  for (const auto& [name, tensor] : tensors) dict.emplace_back(name, PtValue{tensor});
  return dict;
}

// Gives typed access to the entries of a checkpoint's dictionary.
class Entries {
 public:
  Entries(const PtDict& dict, std::string file) : dict_(dict), file_(std::move(file)) {}

  bool has(const std::string& key) const { return find(key) != dict_.end(); }

  template <class T>
  const T& get(const std::string& key) const {
    const auto entry = find(key);
    const T* value = entry == dict_.end() ? nullptr : std::get_if<T>(&entry->second.value);
    require(value, "{} is not a checkpoint of a training run: it has no usable entry '{}'", file_,
            key);
    return *value;
  }

  torch::Tensor list(const std::string& key, torch::ScalarType type) const {
    const torch::Tensor& values = get<torch::Tensor>(key);
    require(values.dim() == 1 && values.scalar_type() == type,
            "{} is not a checkpoint of a training run: '{}' is not a list of {}", file_, key,
            torch::toString(type));
    return values;
  }

  NamedTensors tensors(const std::string& key) const {
    const PtDict& dict = get<PtDict>(key);
    const Entries entries(dict, file_);
    NamedTensors result;
    for (const auto& entry : dict) {
      result.emplace_back(entry.first, entries.get<torch::Tensor>(entry.first));
    }
    return result;
  }

 private:
  PtDict::const_iterator find(const std::string& key) const {
    return std::find_if(dict_.begin(), dict_.end(),
                        [&](const auto& candidate) { return candidate.first == key; });
  }

  const PtDict& dict_;
  std::string file_;
};

}  // namespace

void write_checkpoint(const std::filesystem::path& file, const Checkpoint& c) {
  write_pt(file, PtValue{PtDict{{"format_version", {kFormatVersion}},
                                {"settings", {c.settings}},
                                {"program", {c.program}},
                                {"iteration", {c.iteration}},
                                {"plan", {c.plan}},
                                {"planned_from", {c.planned_from}},
                                {"recoveries", {c.recoveries}},
                                {"iterations_apart", {c.divergence.iterations_apart}},
                                {"differences", {c.divergence.differences}},
                                {"acceptances", {c.divergence.acceptances}},
                                {"skipped_in_a_row", {c.divergence.skipped_in_a_row}},
                                {"stay_in_a_row", {c.divergence.stay_in_a_row}},
                                {"alike_in_a_row", {c.divergence.alike_in_a_row}},
                                {"losses", {c.divergence.losses}},
                                {"skipped", {c.skipped}},
                                {"best_score", {c.best_score}},
                                {"parameters", {to_dict(c.parameters)}},
                                {"averages", {to_dict(c.averages)}},
                                {"first_moments", {to_dict(c.first_moments)}},
                                {"second_moments", {to_dict(c.second_moments)}},
                                {"adam_step", {c.adam_step}},
                                {"average_updates", {c.average_updates}},
                                {"buffer", {c.buffer}},
                                {"carried", {to_dict(c.carried)}},
                                {"functions", {c.functions}}}});
}

Checkpoint read_checkpoint(const std::filesystem::path& file) {
  const PtValue content = read_pt(file);
  require(content.is_dict(), "{} is not a checkpoint of a training run: it holds no dictionary",
          file.string());
  const Entries entries(std::get<PtDict>(content.value), file.string());
  require_format(entries.get<int64_t>("format_version"), kFormatVersion, file.string(),
                 "start a new training run (both versions can read the ema.pt of this one)");
  Checkpoint c;
  c.settings = entries.get<PtDict>("settings");
  c.program = entries.get<std::string>("program");
  c.iteration = entries.get<int64_t>("iteration");
  c.plan = entries.get<PtDict>("plan");
  c.planned_from = entries.get<int64_t>("planned_from");
  c.recoveries = entries.list("recoveries", torch::kInt64);
  const auto count = [&](const char* name) {  // older checkpoints lack these numbers
    return entries.has(name) ? entries.get<int64_t>(name) : 0;
  };
  const auto list = [&](const char* name) {  // and these lists
    return entries.has(name) ? entries.list(name, torch::kFloat64)
                             : torch::empty({0}, torch::kFloat64);
  };
  c.divergence = {entries.get<int64_t>("iterations_apart"),
                  entries.list("differences", torch::kFloat64),
                  list("acceptances"),
                  count("skipped_in_a_row"),
                  count("stay_in_a_row"),
                  count("alike_in_a_row"),
                  list("losses")};
  if (entries.has("skipped")) c.skipped = entries.get<int64_t>("skipped");
  c.best_score = entries.get<double>("best_score");
  c.parameters = entries.tensors("parameters");
  c.averages = entries.tensors("averages");
  c.first_moments = entries.tensors("first_moments");
  c.second_moments = entries.tensors("second_moments");
  c.adam_step = entries.get<torch::Tensor>("adam_step");
  // Older checkpoints lack this number. They averaged in every iteration.
  c.average_updates = entries.has("average_updates")
                          ? entries.get<torch::Tensor>("average_updates")
                          : torch::tensor(static_cast<double>(c.iteration), torch::kFloat64);
  c.buffer = entries.get<torch::Tensor>("buffer");
  c.carried = entries.tensors("carried");
  if (entries.has("functions")) c.functions = entries.get<PtDict>("functions");
  return c;
}

void copy_tensors(const NamedTensors& from, const NamedTensors& to, const std::string& file) {
  torch::NoGradGuard no_grad;
  require(from.size() == to.size(), "{} holds {} tensors, but the model has {}", file, from.size(),
          to.size());
  for (size_t i = 0; i < to.size(); ++i) {
    const auto& [name, source] = from[i];
    auto [expected, target] = to[i];
    require(name == expected, "{} holds the tensor '{}' in the place of '{}' of the model", file,
            name, expected);
    require(source.sizes() == target.sizes() && source.scalar_type() == target.scalar_type(),
            "{}: the tensor '{}' does not have the model's shape and type", file, name);
    target.copy_(source);
  }
}

}  // namespace isinglass
