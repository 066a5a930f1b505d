// Implements configuration files.
#include "lab/spec/configuration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#include "io/error.h"
#include "io/pt/utf8.h"
#include "lab/toml.h"

namespace isinglass {

OptionValue toml_value(const Option& option, const toml::node& node, const std::string& where) {
  switch (option.type) {
    case ValueType::kSwitch:
      if (node.is_boolean()) return node.value<bool>().value();
      fail("{}: {} must be true or false", where, option.name);
    case ValueType::kInteger:
      if (node.is_integer()) return node.value<int64_t>().value();
      fail("{}: {} must be {}", where, option.name, range_text(option));
    case ValueType::kReal:
      if (node.is_number()) return node.value<double>().value();
      fail("{}: {} must be {}", where, option.name, range_text(option));
    default:
      if (node.is_string() && !node.value<std::string>()->empty()) {
        return node.value<std::string>().value();
      }
      fail("{}: {} must be a non-empty string: {}", where, option.name, option.unit);
  }
}

constexpr std::string_view kHeader = "# isinglass ";  // first line, before the command

OptionValues read_configuration_text(const OptionTable& table, const std::string& who,
                                     const std::string& text, const std::string& name) {
  OptionValues values;
  const toml::table keys = parse_toml(text, name);
  for (const auto& [key, node] : keys) {
    const std::string known(key.str());
    const Option* option = find_option(table, known);
    require(option, "{}: unknown key '{}'{}", name, known, known_options(table, known, who));
    require(known != "config" && known != "resume", "{}: {} belongs on the command line", name,
            known);
    values.emplace(known, toml_value(*option, node, name));
  }
  return values;
}

OptionValues read_configuration(const OptionTable& table, const std::string& who,
                                const std::filesystem::path& file) {
  return read_configuration_text(table, who, read_file(file), file.string());
}

namespace {

// Writes the fewest digits that read back as the same number; toml++ writes all 17.
void print_toml(std::ostream& out, double value) {
  const std::string text = fmt::format("{}", value);
  out << text << (text.find_first_of(".e") == std::string::npos ? ".0" : "");
}

template <class T>
void print_toml(std::ostream& out, const T& value) {
  out << toml::value<T>(value);
}

// TOML is text: other bytes would be read back as other characters, and name another file.
void require_text(const std::string& option, const std::string& value) {
  require_options(
      is_utf8(value),
      "`{}` is {}, whose bytes are not UTF-8; config.toml, from which a run is resumed, "
      "can hold text only, so that the file or folder needs another name",
      option, value);
}

}  // namespace

std::string configuration_text(const OptionTable& table, const std::string& who,
                               const OptionValues& values) {
  std::ostringstream out;
  out << kHeader << who << "\n";
  for (const Option& option : table) {
    const auto value = values.find(option.name);
    if (!option.stored || value == values.end()) continue;
    out << option.name << " = ";
    OptionValue written = value->second;
    if (auto* text = std::get_if<std::string>(&written)) {
      if (option.type == ValueType::kPath) *text = std::filesystem::absolute(*text).string();
      require_text(option.name, *text);
    }
    std::visit([&](const auto& v) { print_toml(out, v); }, written);
    out << "\n";
  }
  return out.str();
}

std::string command_of_run(const std::filesystem::path& directory) {
  std::ifstream file(directory / "config.toml");
  std::string line;
  std::getline(file, line);
  return line.starts_with(kHeader) ? line.substr(kHeader.size()) : "";
}

void refuse_recipe(const std::filesystem::path& directory) {
  if (!std::filesystem::exists(directory / kRecipeFile)) return;
  std::vector<std::string> runs;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (!command_of_run(entry.path()).empty()) runs.push_back(entry.path().string());
  }
  std::sort(runs.begin(), runs.end());
  fail("{} is the directory of a recipe, whose runs are {}", directory.string(),
       fmt::join(runs, ", "));
}

nlohmann::ordered_json json_of(const OptionValues& values) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : values) {
    std::visit([&, &key = name](const auto& v) { json[key] = v; }, value);
  }
  return json;
}

}  // namespace isinglass
