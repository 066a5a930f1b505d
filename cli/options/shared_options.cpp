// See shared_options.h.
#include "cli/options/shared_options.h"

#include <algorithm>
#include <charconv>

#include "io/error.h"
#include "models/combined/other_gradient.h"
#include "models/combined/product.h"

namespace isinglass {
namespace {

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
      {.name = "weights",
       .type = ValueType::kPath,
       .unit = "FILE",
       .help = "its parameters (.pt); those of script are a program, which runs: load only what "
               "you trust"},
      {.name = "factors",
       .unit = "NAME=FILE,...",
       .help = "models and parameters whose energies product adds up"},
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
      {.name = "penalty",
       .type = ValueType::kReal,
       .unit = "P",
       .help = "energy of a violated constraint of mis and maxclique; above 1, local minima have "
               "none (default: 1.5)",
       .minimum = 0,
       .above_minimum = true},
      {.name = "class",
       .type = ValueType::kInteger,
       .unit = "Y",
       .help = "mlp or script is a classifier f: its energy is -f(x)[Y]",
       .minimum = 0},
      {.name = "image", .unit = "HxW", .help = "height and width in pixels", .initial = "28x28"},
  };
}

Option gradient_model_option() {
  return {.name = "gradient-model",
          .unit = "NAME=FILE",
          .help = "another model, whose gradient the sampler uses; acceptance is by --model"};
}

Option gradient_precision_option() {
  return {.name = "gradient-precision",
          .unit = "TYPE",
          .help = "of the gradients that proposals use, and never of energies; bf16: resnet",
          .initial = "float32",
          .choices = {"float32", "bf16"}};
}

void set_gradient_precision(const Options& options, EnergyModel& model) {
  model.set_gradient_precision(options.text("gradient-precision") == "bf16"
                                   ? GradientPrecision::kBfloat16
                                   : GradientPrecision::kFloat32);
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

namespace {

// The range of a sampler's number over all samplers that read it, so that what is refused here no
// sampler takes.
void set_range(Option& option) {
  bool found = false;
  for (const SamplerEntry& entry : sampler_registry()) {
    const SamplerOptionUse* use = entry.option(option.name);
    if (!use) continue;
    const bool lower = !found || use->least < option.minimum;
    if (lower || use->least == option.minimum) {
      option.above_minimum = use->above_least && (lower || option.above_minimum);
    }
    option.minimum = found ? std::min(option.minimum, use->least) : use->least;
    option.maximum = found ? std::max(option.maximum, use->most) : use->most;
    found = true;
  }
}

Option sampler_number(const char* name, const char* unit, const char* help) {
  Option option{.name = name, .type = ValueType::kReal, .unit = unit, .help = help};
  set_range(option);
  return option;
}

Option sampler_switch(const char* name, const char* help) {
  return {.name = name, .type = ValueType::kSwitch, .help = help, .initial = false};
}

}  // namespace

std::vector<Option> sampler_options(std::optional<OptionValue> sampler) {
  return {
      {.name = "sampler", .unit = "NAME", .help = "see sample --list", .initial = sampler},
      sampler_number("radius", "R",
                     "sites changed by a proposal, on average (default: the sampler's own, or "
                     "the largest of the model); an even --radius of rwm never changes whether "
                     "the sum of binary sites is odd"),
      sampler_number("tau", "T", "time simulated by a jump (default: the sampler's own)"),
      sampler_number("step-size", "A",
                     "step size a of dlp, eta of continuous samplers (default: the sampler's own)"),
      sampler_number("block", "M",
                     "sites of a block (default: the sampler's own, or the largest of the model)"),
      sampler_number("sigma", "S",
                     "scale of an any-scale proposal; with --alpha, both stay fixed (default: "
                     "adapted in burn-in)"),
      sampler_number("alpha", "A",
                     "weight of the gradient in an any-scale proposal (default: adapted in "
                     "burn-in)"),
      sampler_number("leapfrog", "L",
                     "leapfrog steps of a trajectory (default: the sampler's own)"),
      sampler_number("pull", "LAMBDA",
                     "strength with which fhl pulls particles to their leader (default: its own)"),
      sampler_number("group", "N",
                     "particles that follow one leader; divides --chains (default: the sampler's "
                     "own)"),
      sampler_number("mass", "M", "mass of the particles (default: the sampler's own)"),
      sampler_number("damping", "GAMMA",
                     "share of the momentum that a step keeps, below 1 (default: the sampler's "
                     "own)"),
      sampler_switch("always-accept", "leave out the Metropolis test of trajectories: not exact"),
      sampler_switch("elastic-energy",
                     "count the energy of the pull in the Metropolis test of fhl: not exact"),
      sampler_switch("adapt",
                     "adapt the step size (radius, tau or step-size) in burn-in, which training "
                     "and annealing do not have"),
      sampler_number("target-acceptance", "P",
                     "mean acceptance that --adapt aims at (default: the sampler's own)"),
      sampler_switch("unadjusted", "leave out the Metropolis test: not exact"),
      sampler_switch("monotonic", "learn a monotonic balancing function"),
      {.name = "balancing",
       .unit = "NAME",
       .help = "balancing function",
       .initial = balancing_names().front(),
       .choices = balancing_names()},
      {.name = "scan",
       .unit = "NAME",
       .help =
           "order of the sites of gibbs; chromatic, on sparse graphs and of an rbm: all sites a "
           "step, those at once that do not depend on each other",
       .initial = scan_names().front(),
       .choices = scan_names()},
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

std::pair<int64_t, int64_t> height_and_width(const std::string& text, const std::string& what) {
  constexpr int64_t kLargest = 65536;
  int64_t height = 0, width = 0;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, height);
  bool valid = first.ec == std::errc() && first.ptr != end && *first.ptr == 'x';
  if (valid) {
    const auto second = std::from_chars(first.ptr + 1, end, width);
    valid = second.ec == std::errc() && second.ptr == end;
  }
  require(valid && height >= 1 && width >= 1 && height <= kLargest && width <= kLargest,
          "{} is '{}'; HEIGHTxWIDTH in pixels is needed, such as 28x28", what, text);
  return {height, width};
}

std::pair<int64_t, int64_t> image_of(const Options& options) {
  return height_and_width(options.text("image"), "--image");
}

namespace {

// The flag's models and files, with the paths made absolute: config.toml serves from anywhere.
std::vector<NamedFile> files_of(Options& options, const std::string& flag) {
  if (!options.has(flag)) return {};
  const std::string text = options.text(flag);
  for (const Option& option : options.command().options) {
    if (option.name != flag) continue;
    options.set(flag, starting_at(std::filesystem::current_path(), option, text));
  }
  return named_files(options.text(flag), flag);
}

ModelOptions model_settings(const Options& options, bool continuous) {
  ModelOptions model;
  if (options.has("weights")) model.weights = options.path("weights");
  if (options.has("sites")) model.sites = options.integer("sites");
  if (options.has("categories")) model.categories = options.integer("categories");
  if (options.has("penalty")) model.penalty = options.real("penalty");
  if (options.has("class")) model.label = options.integer("class");
  std::tie(model.image_height, model.image_width) = image_of(options);
  model.continuous = continuous;
  return model;
}

}  // namespace

bool continuous_sampler(const Options& options) {
  return find_sampler(options.text("sampler")).kinds == std::vector{StateKind::kContinuous};
}

std::shared_ptr<EnergyModel> model_of(Options& options, torch::Device device, bool continuous) {
  ModelOptions model = model_settings(options, continuous);
  require(!options.has("factors") || options.text("model") == "product",
          "--factors is given, but --model is {}; it goes with product", options.text("model"));
  require(!options.has("weights") || options.text("model") != "product",
          "--weights is given, but product has no parameters but those of its --factors");
  model.factors = files_of(options, "factors");
  std::shared_ptr<EnergyModel> loaded = load_model(options.text("model"), model);
  loaded->to(device);
  return loaded;
}

std::shared_ptr<EnergyModel> sampled_model_of(Options& options, torch::Device device) {
  const SamplerEntry& sampler = find_sampler(options.text("sampler"));
  const bool continuous = continuous_sampler(options);
  std::shared_ptr<EnergyModel> model = model_of(options, device, continuous);
  const std::vector<NamedFile> files = files_of(options, "gradient-model");
  if (files.empty()) return model;
  require(files.size() == 1, "--gradient-model is {}; one NAME=FILE.pt is needed",
          options.text("gradient-model"));
  require(sampler.needs == "gradient", "--gradient-model is given, but {} uses no gradient",
          sampler.name);
  ModelOptions other = model_settings(options, continuous);
  other.weights = files[0].file;
  std::shared_ptr<EnergyModel> gradient = load_model(files[0].name, other);
  auto both = std::make_shared<OtherGradientModel>(std::move(model), std::move(gradient));
  both->to(device);
  return both;
}

namespace {

// Of what is given. Unsets what the sampler does not read: config.toml holds what was used.
SamplerOptions sampler_settings_of(Options& options) {
  const SamplerEntry& entry = find_sampler(options.text("sampler"));
  SamplerOptions settings;
  for (const auto& [name, member] : sampler_numbers()) {
    if (options.has(name)) settings.*member = options.real(name);
  }
  std::vector<std::string> others = {"balancing", "scan"};
  for (const auto& [name, member] : sampler_switches()) others.push_back(name);
  for (const std::string& name : others) {
    if (entry.option(name)) continue;
    require(!options.given(name), "--{} is not an option of {}; it reads {}", name, entry.name,
            option_names(entry));
    options.unset(name);
  }
  if (options.has("balancing")) {
    settings.balancing = choice_of<Balancing>(options, "balancing", balancing_names());
  }
  if (options.has("scan")) settings.scan = choice_of<Scan>(options, "scan", scan_names());
  for (const auto& [name, member] : sampler_switches()) {
    if (options.has(name)) settings.*member = options.flag(name);
  }
  settings.warm = options.has("warm-start");
  return settings;
}

}  // namespace

std::unique_ptr<Sampler> sampler_of(Options& options, const EnergyModel& model) {
  const std::string& name = options.text("sampler");
  const SamplerOptions given = sampler_settings_of(options);
  std::unique_ptr<Sampler> sampler = make_sampler(name, given, model);
  const SamplerOptions used = with_defaults(find_sampler(name), given, model);
  for (const auto& [number, member] : sampler_numbers()) {
    if (used.*member) options.set(number, *(used.*member));
  }
  return sampler;
}

std::unique_ptr<Sampler> fixed_sampler_of(Options& options, const EnergyModel& model,
                                          const std::string& reason) {
  std::unique_ptr<Sampler> sampler = sampler_of(options, model);
  const SamplerEntry& entry = find_sampler(options.text("sampler"));
  require(!sampler->adapts(), "--adapt acts in burn-in, and {}", reason);
  const bool scales = entry.option("sigma") && entry.site_matrices == 0;
  require(!sampler->learns(), "{} learns in burn-in, and {}{}", entry.name, reason,
          scales ? "; with --sigma and --alpha it has nothing to learn" : "");
  return sampler;
}

}  // namespace isinglass
