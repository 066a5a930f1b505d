// See grid_identity.h.
#include "cli/grid_identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands/commands.h"
#include "cli/identity.h"
#include "cli/options/shared_options.h"
#include "io/error.h"
#include "io/sha256.h"
#include "train/data/dataset.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// As the command reads it: points and grey levels for continuous states, else images.
std::string hash_of_data(const std::string& command, Options& options) {
  if (command == "sample") {
    return data_sha256(options.has("instance") ? points_of(options) : dataset_of(options));
  }
  const std::string& objective = options.text("objective");
  if (objective == "pcd" || objective == "cd") return data_sha256(dataset_of(options));
  const std::string points = data_sha256(points_of(options));
  if (objective != "classify") return points;
  return sha256(points + sha256({{"labels", labels_of(options)}}));
}

}  // namespace

const std::string& GridIdentity::known(const std::string& what,
                                       const std::function<std::string()>& hash) {
  const auto found = known_.find(what);
  if (found != known_.end()) return found->second;
  std::string value = "missing";
  try {
    value = hash();
  } catch (const Error&) {  // whoever reads it says why
  }
  return known_[what] = value;
}

void GridIdentity::add_sources(const std::string& command, const Flags& flags, Json& sources) {
  Options options = parse_options(find_command(command), arguments_of(flags));
  for (const Option& option : options.command().options) {
    if (!options.given(option.name) || option.name == "dataset") continue;
    const OptionValue* value = options.find(option.name);
    if (!std::holds_alternative<std::string>(*value)) continue;
    for (const fs::path& file : files_named_by(option, std::get<std::string>(*value))) {
      if (!fs::is_regular_file(file)) continue;
      sources[file.string()] = known(file.string(), [&] { return file_sha256(file); });
    }
  }
  if (!options.has("dataset")) return;
  const std::string name = options.text("dataset");
  const std::string what =
      fmt::format("{} {} {} {}", command, name, data_dir_of(options).string(),
                  command == "sample" ? (options.has("instance") ? "points" : "images")
                                      : options.text("objective"));
  sources[name] = known(what, [&] { return hash_of_data(command, options); });
}

Json GridIdentity::of(const Cell& cell) {
  Json sources = Json::object();
  add_sources("sample", cell.sampling, sources);
  for (const Flags& training : cell.training) add_sources("train", training, sources);
  return {{"program", program_revision()}, {"sources", sources}};
}

std::string GridIdentity::of_training(const Flags& training) {
  Json sources = Json::object();
  add_sources("train", training, sources);
  // Where the data lie is no matter; what they hold is in the sources.
  const Flags flags = without_flag(training, "data-dir");
  return sha256(fmt::format("{} {} {} {}", program_revision(), device_.str(), sources.dump(),
                            fmt::join(arguments_of(flags), " ")))
      .substr(0, 16);
}

std::string identity_change(const Json& was, const Json& is) {
  if (!was.is_object()) return "they do not say of which program and data they are";
  if (was.value("program", "") != is["program"]) {
    return fmt::format("the program was {} and is {}", was.value("program", "unknown"),
                       is["program"].get<std::string>());
  }
  const Json before = was.value("sources", Json::object());
  for (const auto& [name, hash] : is["sources"].items()) {
    if (before.value(name, "") != hash) return fmt::format("{} holds something else", name);
  }
  return "they are of other files";
}

}  // namespace isinglass
