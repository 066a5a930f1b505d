// See shared_options.h.
#include "cli/shared_options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "io/error.h"

namespace isinglass {
namespace {

const std::vector<std::string> kBalancings = {"sqrt", "barker", "min", "max"};  // enum order
const std::vector<std::string> kScans = {"random", "systematic", "chromatic"};  // enum order

template <class Enum>
Enum choice_of(const Options& options, const std::string& name,
               const std::vector<std::string>& choices) {
  const auto found = std::find(choices.begin(), choices.end(), options.text(name));
  return static_cast<Enum>(found - choices.begin());
}

}  // namespace

std::vector<Option> program_options() {
  return {
      {.name = "config",
       .type = ValueType::kPath,
       .unit = "FILE",
       .help = "TOML file with one key a flag; flags override it",
       .stored = false},
      {.name = "device",
       .unit = "NAME",
       .help = "auto, cpu, cuda or cuda:N; auto takes a GPU when there is one",
       .initial = "auto",
       .adjustable = true},
      {.name = "threads",
       .type = ValueType::kInteger,
       .unit = "N",
       .help = "CPU threads, 0 for all",
       .initial = int64_t{0},
       .minimum = 0,
       .maximum = 4096,
       .adjustable = true},
      {.name = "seed",
       .type = ValueType::kInteger,
       .unit = "S",
       .help = "of all random numbers",
       .initial = int64_t{0},
       .minimum = 0},
      {.name = "quiet",
       .type = ValueType::kSwitch,
       .help = "nothing on stderr but errors",
       .initial = false,
       .stored = false},
      {.name = "json",
       .type = ValueType::kSwitch,
       .help = "one JSON object on stdout at the end and nothing else there",
       .initial = false,
       .stored = false},
  };
}

std::vector<Option> model_options() {
  return {
      {.name = "model", .unit = "NAME", .help = "energy; see sample --list"},
      {.name = "weights", .type = ValueType::kPath, .unit = "FILE", .help = "its parameters (.pt)"},
      {.name = "sites",
       .type = ValueType::kInteger,
       .unit = "D",
       .help = "sites of a model whose file does not say",
       .minimum = 1},
      {.name = "categories",
       .type = ValueType::kInteger,
       .unit = "K",
       .help = "values a site of a model whose file does not say",
       .minimum = 2,
       .maximum = 256},
      {.name = "image", .unit = "HxW", .help = "height and width in pixels", .initial = "28x28"},
  };
}

std::vector<Option> new_model_options() {
  const NewModelOptions model;
  return {{.name = "channels",
           .type = ValueType::kInteger,
           .unit = "C",
           .help = "channels of a new resnet",
           .initial = model.channels,
           .minimum = 1},
          {.name = "hidden",
           .type = ValueType::kInteger,
           .unit = "H",
           .help = "hidden units of a new rbm",
           .initial = model.hidden,
           .minimum = 1}};
}

std::vector<Option> sampler_options(std::optional<OptionValue> sampler) {
  return {
      {.name = "sampler", .unit = "NAME", .help = "see sample --list", .initial = sampler},
      {.name = "radius",
       .type = ValueType::kReal,
       .unit = "R",
       .help = "sites changed by a proposal, on average (default: the sampler's own); an even "
               "--radius of rwm never changes whether the sum of binary sites is odd",
       .minimum = 1},
      {.name = "tau",
       .type = ValueType::kReal,
       .unit = "T",
       .help = "time simulated by a jump (default: the sampler's own)",
       .minimum = 0,
       .above_minimum = true},
      {.name = "step-size",
       .type = ValueType::kReal,
       .unit = "A",
       .help = "step size a (default: the sampler's own)",
       .minimum = 0,
       .above_minimum = true},
      {.name = "block",
       .type = ValueType::kReal,
       .unit = "M",
       .help = "sites of a block (default: the sampler's own)",
       .minimum = 1},
      {.name = "sigma",
       .type = ValueType::kReal,
       .unit = "S",
       .help = "scale of an any-scale proposal; with --alpha, both stay fixed (default: adapted)",
       .minimum = 0,
       .above_minimum = true},
      {.name = "alpha",
       .type = ValueType::kReal,
       .unit = "A",
       .help = "weight of the gradient in an any-scale proposal (default: adapted)",
       .minimum = 0,
       .maximum = 1,
       .above_minimum = true},
      {.name = "adapt",
       .type = ValueType::kSwitch,
       .help = "adapt the step size (radius, tau or step-size) in burn-in",
       .initial = false},
      {.name = "target-acceptance",
       .type = ValueType::kReal,
       .unit = "P",
       .help = "mean acceptance that --adapt aims at (default: the sampler's own)",
       .minimum = 0,
       .maximum = 1,
       .above_minimum = true},
      {.name = "unadjusted",
       .type = ValueType::kSwitch,
       .help = "leave out the Metropolis test: not exact",
       .initial = false},
      {.name = "monotonic",
       .type = ValueType::kSwitch,
       .help = "learn a monotonic balancing function",
       .initial = false},
      {.name = "balancing",
       .unit = "NAME",
       .help = "balancing function",
       .initial = kBalancings.front(),
       .choices = kBalancings},
      {.name = "scan",
       .unit = "NAME",
       .help =
           "order of the sites of gibbs; chromatic, on sparse graphs: all sites a step, those of "
           "one colour at once",
       .initial = kScans.front(),
       .choices = kScans},
  };
}

std::vector<Option> data_options() {
  return {
      {.name = "dataset", .unit = "NAME", .help = "data set by name, or a .pt or IDX file"},
      {.name = "data-dir",
       .type = ValueType::kPath,
       .unit = "DIR",
       .help = "folder of the data sets (default: $ISINGLASS_DATA, else ./data)"},
  };
}

Option overwrite_option() {
  return {.name = "overwrite",
          .type = ValueType::kSwitch,
          .help = "replace the run that --out holds",
          .initial = false,
          .stored = false};
}

void append(std::vector<Option>& options, std::vector<Option> more) {
  std::move(more.begin(), more.end(), std::back_inserter(options));
}

torch::Device device_of(const Options& options) {
  const std::string& name = options.text("device");
  const int64_t gpus = static_cast<int64_t>(torch::cuda::device_count());
  if (name == "cpu" || (name == "auto" && gpus == 0)) return torch::kCPU;
  if (name == "auto") return torch::Device(torch::kCUDA, 0);
  int64_t index = 0;
  const bool indexed = name.starts_with("cuda:");
  const auto [rest, error] =
      indexed ? std::from_chars(name.data() + 5, name.data() + name.size(), index)
              : std::from_chars_result{name.data() + name.size(), std::errc()};
  require((indexed || name == "cuda") && error == std::errc() &&
              rest == name.data() + name.size() && index >= 0,
          "--device is '{}'; auto, cpu, cuda or cuda:N is needed", name);
  require(index < gpus, "--device is {}; this machine has {} usable GPU{}", name,
          gpus == 0 ? "no" : std::to_string(gpus), gpus == 1 ? "" : "s");
  return torch::Device(torch::kCUDA, static_cast<torch::DeviceIndex>(index));
}

std::pair<int64_t, int64_t> image_of(const Options& options) {
  constexpr int64_t kLargest = 65536;
  const std::string& text = options.text("image");
  int64_t height = 0, width = 0;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, height);
  bool valid = first.ec == std::errc() && first.ptr != end && *first.ptr == 'x';
  if (valid) {
    const auto second = std::from_chars(first.ptr + 1, end, width);
    valid = second.ec == std::errc() && second.ptr == end;
  }
  require(valid && height >= 1 && width >= 1 && height <= kLargest && width <= kLargest,
          "--image is '{}'; HEIGHTxWIDTH in pixels is needed, such as 28x28", text);
  return {height, width};
}

std::shared_ptr<EnergyModel> model_of(const Options& options, torch::Device device) {
  ModelOptions model;
  if (options.has("weights")) model.weights = options.path("weights");
  if (options.has("sites")) model.sites = options.integer("sites");
  if (options.has("categories")) model.categories = options.integer("categories");
  std::tie(model.image_height, model.image_width) = image_of(options);
  std::shared_ptr<EnergyModel> loaded = load_model(options.text("model"), model);
  loaded->to(device);
  return loaded;
}

SamplerOptions sampler_settings_of(Options& options) {
  const SamplerEntry& entry = find_sampler(options.text("sampler"));
  SamplerOptions settings;
  for (const auto& [name, member] : sampler_numbers()) {
    const SamplerOptionUse* use = entry.option(name);
    if (use && use->initial && !options.has(name)) options.set(name, *use->initial);
    if (options.has(name)) settings.*member = options.real(name);
  }
  for (const char* name : {"balancing", "scan", "adapt", "unadjusted", "monotonic"}) {
    if (entry.option(name)) continue;
    require(!options.given(name), "--{} is not an option of {}; it reads {}", name, entry.name,
            option_names(entry));
    options.unset(name);  // config.toml holds what was used
  }
  if (options.has("balancing")) {
    settings.balancing = choice_of<Balancing>(options, "balancing", kBalancings);
  }
  if (options.has("scan")) settings.scan = choice_of<Scan>(options, "scan", kScans);
  for (const auto& [name, member] : sampler_switches()) {
    if (options.has(name)) settings.*member = options.flag(name);
  }
  settings.warm = options.has("warm-start");
  return settings;
}

std::unique_ptr<Sampler> sampler_of(Options& options, const EnergyModel& model) {
  const SamplerOptions settings = sampler_settings_of(options);
  return make_sampler(options.text("sampler"), settings, model);
}

Dataset dataset_of(Options& options) {
  namespace fs = std::filesystem;
  if (!options.has("data-dir")) {
    const char* variable = std::getenv("ISINGLASS_DATA");
    options.set("data-dir", variable && *variable ? variable : "data");
  }
  Dataset data = load_dataset(options.text("dataset"), options.path("data-dir"));
  const auto& names = dataset_names();
  if (std::find(names.begin(), names.end(), options.text("dataset")) == names.end()) {
    options.set("dataset", fs::absolute(options.path("dataset")).string());
  }
  return data;
}

}  // namespace isinglass
