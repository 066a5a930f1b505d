// Implements the tables of options and their checks.
#include "lab/spec/option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "io/error.h"
#include "lab/spec/field.h"
#include "models/instances/instances.h"
#include "models/near_name.h"
#include "models/registry.h"

namespace isinglass {

namespace fs = std::filesystem;

bool applies(const Option& option, const std::string& objective) {
  const std::vector<std::string>& all = option.objectives;
  return all.empty() || std::find(all.begin(), all.end(), objective) != all.end();
}

const Option* find_option(const OptionTable& table, const std::string& name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Option& o) { return o.name == name; });
  return found == table.end() ? nullptr : &*found;
}

std::string known_options(const OptionTable& table, const std::string& name,
                          const std::string& who) {
  std::vector<std::string> names;
  for (const Option& option : table) names.push_back(option.name);
  const std::string near = near_name(name, names);
  return fmt::format("; {}isinglass {} --help lists the options",
                     near.empty() ? "" : fmt::format("did you mean {}? ", near), who);
}

std::string range_text(const Option& option) {
  const bool whole = option.type == ValueType::kInteger;
  std::string kind = whole ? "a whole number" : "a number";
  const bool low = std::isfinite(option.minimum), high = std::isfinite(option.maximum);
  if (low && high) return fmt::format("{} from {} to {}", kind, option.minimum, option.maximum);
  if (low && option.above_minimum) return fmt::format("{} above {}", kind, option.minimum);
  if (low) return fmt::format("{} of at least {}", kind, option.minimum);
  return kind;
}

std::string value_text(const OptionValue& value) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
}

void check_value(const Option& option, const OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    const auto& choices = option.choices;
    require_options(
        choices.empty() || std::find(choices.begin(), choices.end(), *text) != choices.end(),
        "`{}` is '{}'; known: {}", option.name, *text,
        fmt::join(nearest_first(*text, choices), ", "));
    return;
  }
  if (std::holds_alternative<bool>(value)) return;
  const bool whole = std::holds_alternative<int64_t>(value);
  const double number =
      whole ? static_cast<double>(std::get<int64_t>(value)) : std::get<double>(value);
  const bool inside = std::isfinite(number) && number <= option.maximum &&
                      (option.above_minimum ? number > option.minimum : number >= option.minimum);
  require_options(inside, "`{}` is {}; {} is needed", option.name, value_text(value),
                  range_text(option));
}

bool is_file(const Option& option, const std::string& value) {
  if (option.type == ValueType::kPath) return true;
  // A target's name stands for its states.
  return !option.names.empty() && !names_instance(value) &&
         std::find(option.names.begin(), option.names.end(), value) == option.names.end();
}

namespace {

bool names_files(const Option& option) {
  return option.unit.starts_with("NAME=FILE");
}

}  // namespace

std::string starting_at(const fs::path& folder, const Option& option, const std::string& value) {
  if (is_file(option, value)) return (folder / value).string();
  if (!names_files(option)) return value;
  std::vector<NamedFile> files;
  read_text(value, option.name, files);
  for (NamedFile& named : files) named.file = folder / named.file;
  return text_of(files);
}

OptionValues starting_at(const fs::path& folder, const OptionTable& table, OptionValues values) {
  for (auto& [name, value] : values) {
    const Option* option = find_option(table, name);
    auto* text = std::get_if<std::string>(&value);
    if (option && text) *text = starting_at(folder, *option, *text);
  }
  return values;
}

std::vector<fs::path> files_named_by(const Option& option, const std::string& value) {
  if (is_file(option, value)) return {value};
  if (!names_files(option)) return {};
  std::vector<NamedFile> named;
  read_text(value, option.name, named);
  std::vector<fs::path> files;
  for (const NamedFile& one : named) files.push_back(one.file);
  return files;
}

}  // namespace isinglass
