// isinglass inspect: describes a data file, a parameter file, a checkpoint, the text of a graph,
// quadratic function or network, or a run directory; with --out it also writes a picture of the
// images in it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "cli/commands/commands.h"
#include "cli/output_directory.h"
#include "io/error.h"
#include "io/files.h"
#include "io/json.h"
#include "io/picture.h"
#include "io/pt/pt_file.h"
#include "io/sha256.h"
#include "lab/run/summary.h"
#include "lab/run/training.h"
#include "lab/spec/configuration.h"
#include "lab/spec/field.h"
#include "models/density/bayesnet.h"
#include "models/lattice/quadratic.h"
#include "models/lattice/text_lines.h"
#include "train/data/describe.h"
#include "train/data/formats/format.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int64_t kPictured = 64;  // number of images in a picture
constexpr int64_t kColumns = 8;

// The result of an inspection: the description, and images if there are any.
struct Finding {
  Json description;
  torch::Tensor images;  // uint8 [n, H·W]; undefined if there are none
  int64_t height = 0, width = 0;
  int scale = 255;  // of the picture
};

Json describe_tensor(const torch::Tensor& tensor) {
  Json json = {{"dtype", dtype_name(tensor.scalar_type())}, {"shape", tensor.sizes().vec()}};
  if (tensor.numel() == 0 || tensor.is_complex()) return json;
  const torch::Tensor values = tensor.to(torch::kFloat64);
  json["min"] = values.min().item<double>();
  json["max"] = values.max().item<double>();
  json["mean"] = values.mean().item<double>();
  const int64_t bad = values.numel() - values.isfinite().sum().item<int64_t>();
  if (bad > 0) json["non_finite"] = bad;
  return json;
}

Json describe_value(const PtValue& value) {
  if (const auto* tensor = std::get_if<torch::Tensor>(&value.value))
    return describe_tensor(*tensor);
  if (const auto* list = std::get_if<PtList>(&value.value)) {
    Json json = Json::array();
    for (const PtValue& item : *list) json.push_back(describe_value(item));
    return json;
  }
  if (const auto* dict = std::get_if<PtDict>(&value.value)) {
    Json json = Json::object();
    for (const auto& [key, item] : *dict) json[key] = describe_value(item);
    return json;
  }
  return std::visit(
      [](const auto& plain) -> Json {
        if constexpr (std::is_constructible_v<Json, decltype(plain)> &&
                      !std::is_same_v<std::decay_t<decltype(plain)>, std::monostate>) {
          return plain;
        } else {
          return nullptr;
        }
      },
      value.value);
}

// Adds rows of states that can be shown as a picture: their last dimension is H·W, or they are
// images [N, H, W] of any size. States of chains, [draws, chains, sites], are no such images.
void add_images(Finding& finding, torch::Tensor states, ImageSize image, bool of_chains = false) {
  const bool flat =
      states.dim() >= 2 && states.scalar_type() == torch::kUInt8 && states.numel() > 0;
  if (!flat) return;
  if (!of_chains && states.dim() == 3 && states.size(2) != image.height * image.width) {
    image = {states.size(1), states.size(2)};  // images [N, H, W]
    states = states.flatten(1);
  }
  if (states.size(-1) != image.height * image.width) return;
  if (states.dim() > 2) {  // the last draws, as many as fill the picture, and at least one
    const int64_t draws =
        std::clamp(kPictured / std::max<int64_t>(1, states.size(1)), int64_t{1}, states.size(0));
    states = states.narrow(0, states.size(0) - draws, draws).flatten(0, 1);
  }
  finding.images = states.narrow(0, 0, std::min(kPictured, states.size(0))).contiguous();
  finding.scale = picture_scale(finding.images);
  finding.height = image.height;
  finding.width = image.width;
}

const PtValue* find(const PtDict& dict, const std::string& key) {
  const auto found =
      std::find_if(dict.begin(), dict.end(), [&](const auto& e) { return e.first == key; });
  return found == dict.end() ? nullptr : &found->second;
}

// Returns what a file holds, which its keys show.
std::string kind_of(const PtDict& dict) {
  if (find(dict, "samples") && find(dict, "energy")) return "samples";
  if (find(dict, "energy") && find(dict, "gradient")) return "energies and gradients";
  if (find(dict, "energy")) return "energies";
  if (find(dict, "iteration") && find(dict, "format_version")) return "training checkpoint";
  if (find(dict, "log_weights")) return "annealing checkpoint";
  const bool tensors = std::all_of(dict.begin(), dict.end(),
                                   [](const auto& entry) { return entry.second.is_tensor(); });
  return tensors ? "parameters" : "dictionary";
}

Finding inspect_pt(const fs::path& file, ImageSize image) {
  const PtValue value = read_pt(file);
  Finding finding;
  const auto* dict = std::get_if<PtDict>(&value.value);
  finding.description = {{"file", file.string()},
                         {"kind", dict                ? kind_of(*dict)
                                  : value.is_tensor() ? "tensor"
                                                      : "value"},
                         {"content", describe_value(value)}};
  if (finding.description["kind"] == "parameters") {
    finding.description["sha256"] = sha256(read_named_tensors(file));
  }
  if (value.is_tensor()) add_images(finding, std::get<torch::Tensor>(value.value), image);
  for (const char* key : {"samples", "buffer", "x"}) {
    const PtValue* entry = dict ? find(*dict, key) : nullptr;
    if (entry && entry->is_tensor()) {
      add_images(finding, std::get<torch::Tensor>(entry->value), image, /*of_chains=*/true);
    }
  }
  return finding;
}

Finding inspect_data(const DataFileDescription& data, const fs::path& file) {
  Finding finding;
  finding.description = {{"file", file.string()}, {"kind", data.format}, {"shape", data.shape},
                         {"dtype", data.dtype},   {"min", data.min},     {"max", data.max},
                         {"mean", data.mean}};
  if (data.images.numel() > 0) finding.images = data.images;
  finding.height = data.height;
  finding.width = data.width;
  finding.scale = data.scale;
  return finding;
}

// Returns the last complete line of metrics.jsonl.
Json last_metrics(const fs::path& file) {
  std::string text = read_file(file);
  text.resize(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n'));
  const size_t begin = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  const Json line = Json::parse(text.substr(begin), nullptr, /*allow_exceptions=*/false);
  return line.is_discarded() ? Json() : line;
}

Json read_config(const fs::path& file) {
  try {
    std::ostringstream text;
    text << toml::json_formatter{toml::parse(read_file(file), file.string())};
    return Json::parse(text.str());
  } catch (const toml::parse_error& error) {
    fail("{} is not valid TOML: {}", file.string(), error.description());
  }
}

Finding inspect_run(const fs::path& directory, ImageSize image) {
  refuse_recipe(directory);
  require(fs::exists(directory / "config.toml"),
          "{} is neither a run directory (it has no config.toml) nor a folder of PNG images",
          directory.string());
  Finding finding;
  finding.description = {{"directory", directory.string()},
                         {"kind", "run directory"},
                         {"config", read_config(directory / "config.toml")}};
  for (const char* name : {"summary", "ais"}) {
    const fs::path file = directory / (std::string(name) + ".json");
    if (!fs::exists(file)) continue;
    const Json json = Json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
    require(!json.is_discarded(), "{} is not valid JSON", file.string());
    finding.description[name] = json;
  }
  if (fs::exists(directory / "metrics.jsonl")) {
    finding.description["last_metrics"] = last_metrics(directory / "metrics.jsonl");
  }
  const fs::path checkpoint = newest_checkpoint(directory);
  const fs::path states = checkpoint.empty() ? directory / "samples.pt" : checkpoint;
  if (!checkpoint.empty()) finding.description["checkpoint"] = checkpoint.filename().string();
  if (fs::exists(states)) {
    Finding inner = inspect_pt(states, image);
    inner.description = std::move(finding.description);
    return inner;
  }
  return finding;
}

// Returns how a text that holds a graph, a quadratic function or a network is read; an empty
// description if its first line looks like none of them.
Finding inspect_problem(const fs::path& file) {
  if (!fs::is_regular_file(file) || !is_text_file(file)) return {};
  if (is_network_text(file)) {
    Finding finding;
    finding.description = {{"file", file.string()}, {"kind", "network"}};
    finding.description.update(network_json(*read_bayesnet(file)->reading()));
    return finding;
  }
  const auto kind = quadratic_kind(file);
  if (!kind && !is_graph_text(file)) return {};
  Finding finding;
  finding.description = {{"file", file.string()}, {"kind", kind ? "quadratic function" : "graph"}};
  if (kind) {
    finding.description.update(quadratic_json(*read_quadratic(file, *kind).reading));
  } else {
    finding.description.update(graph_json(*read_graph(file).reading));
  }
  return finding;
}

// Returns true if the numbers of a text can be no edges: lines "i j" or "i j weight".
bool can_be_no_edges(const torch::Tensor& values) {
  if (values.size(1) < 2 || values.size(1) > 3) return true;
  const torch::Tensor ends = values.slice(1, 0, 2);
  return !((ends >= 0) & (ends == ends.floor())).all().item<bool>();
}

// Describes a text of numbers as a graph or a quadratic function if it is one, and else as data.
// The error of an edge list with a mistake is that of the graph.
Finding inspect_numbers(const fs::path& file, const DataFormat& format) {
  try {
    if (Finding problem = inspect_problem(file); !problem.description.empty()) return problem;
  } catch (const Error&) {
    const auto values = [&]() -> std::optional<torch::Tensor> {
      try {
        return format.read(file);
      } catch (const Error&) {
        return std::nullopt;
      }
    }();
    if (!values || !can_be_no_edges(*values)) throw;
  }
  return inspect_data(*describe_data_file(file), file);
}

bool starts_as_zip(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::array<char, 2> start = {};
  return in.read(start.data(), start.size()) && start[0] == 'P' && start[1] == 'K';
}

Finding inspect_file(const fs::path& file, ImageSize image) {
  require(fs::exists(file), "{} does not exist", file.string());
  if (fs::exists(file / "config.toml")) return inspect_run(file, image);
  const DataFormat* format = format_of(file);
  if (format && format->text_of_numbers) return inspect_numbers(file, *format);
  if (const auto data = describe_data_file(file)) return inspect_data(*data, file);
  if (fs::is_directory(file)) return inspect_run(file, image);
  if (Finding problem = inspect_problem(file); !problem.description.empty()) return problem;
  require(file.extension() == ".pt" || file.extension() == ".pth" || starts_as_zip(file),
          "{} is not a file that inspect can read; it reads {}, graphs, quadratic functions and "
          "networks as text, and run directories",
          file.string(), readable_formats());
  return inspect_pt(file, image);
}

bool is_tensor_description(const Json& json) {
  return json.is_object() && json.contains("dtype") && json.contains("shape");
}

std::string tensor_line(const Json& tensor) {
  std::string line =
      fmt::format("{:<9}{}", tensor["dtype"].get<std::string>(), text_of(tensor["shape"]));
  if (tensor.contains("min")) {
    line += fmt::format("  {:.6g} to {:.6g}, mean {:.6g}", tensor["min"].get<double>(),
                        tensor["max"].get<double>(), tensor["mean"].get<double>());
  }
  if (tensor.contains("non_finite")) line += "  not finite: " + text_of(tensor["non_finite"]);
  return line;
}

// Prints one line per value and indents nested ones.
void print_json(const Json& json, int indent, std::string& text) {
  for (const auto& [key, value] : json.items()) {
    const std::string head = std::string(static_cast<size_t>(indent), ' ') + key;
    if (is_tensor_description(value)) {
      text += fmt::format("{:<40}  {}\n", head, tensor_line(value));
    } else if (value.is_object()) {
      text += head + "\n";
      print_json(value, indent + 2, text);
    } else {
      text += fmt::format("{:<24}  {}\n", head,
                          value.is_string() ? value.get<std::string>() : text_of(value));
    }
  }
}

std::string run_inspect(const Options& options) {
  const fs::path file = options.path("file");
  Finding finding = inspect_file(file, image_size(options.text("image"), "--image"));
  if (options.has("out")) {
    require(finding.images.defined(),
            "{} holds no images of {} pixels; --image HxW sets another size", file.string(),
            options.text("image"));
    write_picture_grid(options.path("out"), finding.images, finding.height, finding.width, kColumns,
                       finding.scale);
    finding.description["picture"] = options.text("out");
  }
  if (options.flag("json")) return text_of(finding.description, 2) + "\n";
  std::string text;
  print_json(finding.description, 0, text);
  return text;
}

}  // namespace

Command inspect_command() {
  return {.name = "inspect",
          .summary = "describe a data file, parameter file, checkpoint, graph or run directory",
          .options = {{.name = "file",
                       .type = ValueType::kPath,
                       .unit = "FILE",
                       .help = "file or directory to describe; it may be given without --file",
                       .stored = false,
                       .topic = Topic::kData},
                      {.name = "image",
                       .unit = "HxW",
                       .help = "height and width of the images in pixels",
                       .initial = "28x28",
                       .topic = Topic::kData},
                      {.name = "out",
                       .type = ValueType::kPath,
                       .unit = "FILE.png",
                       .help = "picture to write, of the first 64 images or of the last draws",
                       .stored = false,
                       .topic = Topic::kOutput}},
          .run = run_inspect,
          .positional = {"file"}};
}

}  // namespace isinglass
