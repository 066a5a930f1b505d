// Parsing of command lines and configuration files; see options.h.
#include "cli/options/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <cxxopts.hpp>
#include <sstream>

#include "lab/toml.h"
#include "io/error.h"
#include "io/files.h"
#include "models/combined/product.h"
#include "models/registry.h"

namespace isinglass {
namespace {

std::string range_text(const Option& option) {
  const bool whole = option.type == ValueType::kInteger;
  const std::string kind = whole ? "a whole number" : "a number";
  const bool low = std::isfinite(option.minimum), high = std::isfinite(option.maximum);
  if (low && high) return fmt::format("{} from {} to {}", kind, option.minimum, option.maximum);
  if (low && option.above_minimum) return fmt::format("{} above {}", kind, option.minimum);
  if (low) return fmt::format("{} of at least {}", kind, option.minimum);
  return kind;
}

template <class T>
std::optional<T> parse_number(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

OptionValue parse_value(const Option& option, const std::string& text) {
  const auto refuse = [&](const std::string& needed) {
    fail("--{} is '{}'; {} is needed", option.name, text, needed);
  };
  if (option.type == ValueType::kSwitch) {
    if (text != "true" && text != "false") refuse("true or false");
    return text == "true";
  }
  if (option.type == ValueType::kInteger) {
    const auto value = parse_number<int64_t>(text);
    if (!value) refuse(range_text(option));
    return *value;
  }
  if (option.type == ValueType::kReal) {
    const auto value = parse_number<double>(text);
    if (!value) refuse(range_text(option));
    return *value;
  }
  require(!text.empty() && !text.starts_with("--"), "--{} needs a value: {}", option.name,
          option.unit);
  return text;
}

const Option& find_option(const Command& command, const std::string& name,
                          const std::string& what) {
  std::vector<std::string> names;
  for (const Option& option : command.options) {
    if (option.name == name) return option;
    names.push_back(option.name);
  }
  fail("{}; {} knows: {}", what, command.name, fmt::join(nearest_first(name, names), ", "));
}

std::string without_dashes(const std::string& flag) {
  return flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
}

// A flag that is not in the table, or one that is but lacks a dash.
[[noreturn]] void refuse_flag(const Command& command, const std::string& flag) {
  const std::string name = without_dashes(flag);
  find_option(command, name.substr(0, name.find('=')), "unknown flag " + flag);
  fail("unknown flag {}; write --{}", flag, name);
}

std::map<std::string, OptionValue> read_command_line(const Command& command,
                                                     const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {  // cxxopts would take -steps for -s -t -e -p -s
    const bool single = argument.size() > 1 && argument[0] == '-' && std::isalpha(argument[1]);
    if (single) refuse_flag(command, argument);
  }
  cxxopts::Options parser("isinglass " + command.name);
  parser.allow_unrecognised_options();
  for (const Option& option : command.options) {
    auto value = cxxopts::value<std::string>();
    if (option.type == ValueType::kSwitch) value->implicit_value("true");
    parser.add_options()(option.name, option.help, value);
  }
  if (!command.positional.empty()) parser.parse_positional(command.positional);
  std::vector<const char*> argv = {"isinglass"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  cxxopts::ParseResult result;
  try {
    result = parser.parse(static_cast<int>(argv.size()), argv.data());
  } catch (const cxxopts::exceptions::exception&) {  // only the last argument can lack its value
    const std::string name = without_dashes(arguments.back());
    fail("--{} needs a value: {}", name, find_option(command, name, "--" + name).unit);
  }
  for (const std::string& unmatched : result.unmatched()) {
    if (!unmatched.starts_with("-") || unmatched.size() < 2) continue;
    refuse_flag(command, unmatched);
  }
  require(result.unmatched().empty(), "unexpected argument '{}'; {} takes {}",
          result.unmatched().empty() ? "" : result.unmatched().front(), command.name,
          command.positional.empty() ? "flags only" : "one file");
  std::map<std::string, OptionValue> values;
  for (const auto& argument : result.arguments()) {
    const Option& option = find_option(command, argument.key(), "unknown flag " + argument.key());
    const bool fresh = values.emplace(option.name, parse_value(option, argument.value())).second;
    require(fresh, "--{} is given twice", option.name);
  }
  return values;
}

OptionValue toml_value(const Option& option, const toml::node& node, const std::string& file) {
  switch (option.type) {
    case ValueType::kSwitch:
      if (node.is_boolean()) return node.value<bool>().value();
      fail("{}: {} needs true or false", file, option.name);
    case ValueType::kInteger:
      if (node.is_integer()) return node.value<int64_t>().value();
      fail("{}: {} needs {}", file, option.name, range_text(option));
    case ValueType::kReal:
      if (node.is_number()) return node.value<double>().value();
      fail("{}: {} needs {}", file, option.name, range_text(option));
    default:
      if (node.is_string() && !node.value<std::string>()->empty()) {
        return node.value<std::string>().value();
      }
      fail("{}: {} needs a text: {}", file, option.name, option.unit);
  }
}

toml::table read_toml(const std::filesystem::path& file) {
  return parse_toml(read_file(file), file.string());
}

std::map<std::string, OptionValue> read_configuration(const Command& command,
                                                      const std::filesystem::path& file) {
  std::map<std::string, OptionValue> values;
  const toml::table table = read_toml(file);
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const Option& option =
        find_option(command, name, fmt::format("{}: unknown key '{}'", file.string(), name));
    require(name != "config" && name != "resume", "{}: {} belongs on the command line",
            file.string(), name);
    values.emplace(name, toml_value(option, node, file.string()));
  }
  return values;
}

std::string show(const OptionValue& value) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
}

// "--radius is 0; a number of at least 1 is needed" unless the value is in the option's range.
void check_option(const Option& option, const OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    const auto& choices = option.choices;
    require(choices.empty() || std::find(choices.begin(), choices.end(), *text) != choices.end(),
            "--{} is '{}'; known: {}", option.name, *text,
            fmt::join(nearest_first(*text, choices), ", "));
    return;
  }
  if (std::holds_alternative<bool>(value)) return;
  const bool whole = std::holds_alternative<int64_t>(value);
  const double number =
      whole ? static_cast<double>(std::get<int64_t>(value)) : std::get<double>(value);
  const bool inside = std::isfinite(number) && number <= option.maximum &&
                      (option.above_minimum ? number > option.minimum : number >= option.minimum);
  require(inside, "--{} is {}; {} is needed", option.name, show(value), range_text(option));
}

std::filesystem::path configuration_file(const std::map<std::string, OptionValue>& flags) {
  const auto config = flags.find("config"), resume = flags.find("resume");
  if (resume == flags.end()) {
    return config == flags.end() ? std::string() : std::get<std::string>(config->second);
  }
  require(config == flags.end(),
          "--config and --resume exclude each other: a resumed run has its "
          "own config.toml");
  const std::filesystem::path directory = std::get<std::string>(resume->second);
  require(std::filesystem::exists(directory / "config.toml"),
          "--resume {}: no run directory (it has no config.toml)", directory.string());
  return directory / "config.toml";
}

// As few digits as read back to the same number; toml++ writes all 17.
void print_toml(std::ostream& out, double value) {
  const std::string text = fmt::format("{}", value);
  out << text << (text.find_first_of(".e") == std::string::npos ? ".0" : "");
}

template <class T>
void print_toml(std::ostream& out, const T& value) {
  out << toml::value<T>(value);
}

}  // namespace

const OptionValue* Options::find(const std::string& name) const {
  const auto value = values_.find(name);
  return value == values_.end() ? nullptr : &value->second;
}

const OptionValue& Options::at(const std::string& name) const {
  const OptionValue* value = find(name);
  require(value, "--{} is required by {}", name, command_->name);
  return *value;
}

void Options::set_given(const std::string& name, OptionValue value) {
  given_.insert(name);
  set(name, std::move(value));
}

std::string Options::to_toml() const {
  std::ostringstream out;
  out << "# isinglass " << command_->name << "\n";
  for (const Option& option : command_->options) {
    if (!option.stored || !has(option.name)) continue;
    out << option.name << " = ";
    if (option.type == ValueType::kPath) {  // so that the file serves from any directory
      print_toml(out, std::filesystem::absolute(path(option.name)).string());
    } else {
      std::visit([&](const auto& value) { print_toml(out, value); }, at(option.name));
    }
    out << "\n";
  }
  return out.str();
}

Options parse_options(const Command& command, const std::vector<std::string>& arguments) {
  const auto flags = read_command_line(command, arguments);
  const std::filesystem::path file = configuration_file(flags);
  const auto configured = file.empty() ? decltype(flags){} : read_configuration(command, file);
  const bool resumed = flags.contains("resume");
  Options options(command);
  for (const Option& option : command.options) {
    const auto flag = flags.find(option.name), setting = configured.find(option.name);
    if (resumed && option.stored && !option.adjustable && flag != flags.end()) {
      require(setting != configured.end() && setting->second == flag->second,
              "--{} is {} but the run has {}; a resumed run keeps its settings", option.name,
              show(flag->second), setting == configured.end() ? "none" : show(setting->second));
    }
    if (flag != flags.end()) {
      options.set_given(option.name, flag->second);
    } else if (setting != configured.end()) {
      options.set_given(option.name, setting->second);
    } else if (option.initial) {
      options.set(option.name, *option.initial);
    }
    if (const OptionValue* value = options.find(option.name)) check_option(option, *value);
  }
  return options;
}

namespace {

std::string note(const Option& option) {
  std::vector<std::string> parts;
  if (!option.choices.empty()) parts.push_back(fmt::format("{}", fmt::join(option.choices, ", ")));
  if (option.type == ValueType::kInteger || option.type == ValueType::kReal) {
    parts.push_back(range_text(option));
  }
  if (option.initial && option.type != ValueType::kSwitch) {
    parts.push_back("default " + show(*option.initial));
  }
  if (option.initial && option.type == ValueType::kSwitch && std::get<bool>(*option.initial)) {
    parts.push_back("default on; --" + option.name + "=false turns it off");
  }
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, "; "));
}

// Words of `text` in lines of `width` characters, the later ones indented.
std::string wrap(const std::string& text, size_t width, size_t indent) {
  std::istringstream words(text);
  std::string word, result;
  size_t column = 0;
  while (words >> word) {
    if (column > 0 && column + 1 + word.size() > width) {
      result.append("\n").append(indent, ' ');
      column = 0;
    }
    if (column > 0) result += " ";
    result += word;
    column += word.size() + (column > 0 ? 1 : 0);
  }
  return result;
}

}  // namespace

namespace {

// Whether a value of the option is a file's name.
bool is_file(const Option& option, const std::string& value) {
  if (option.type == ValueType::kPath) return true;
  return !option.names.empty() &&
         std::find(option.names.begin(), option.names.end(), value) == option.names.end();
}

bool names_files(const Option& option) {
  return option.unit.starts_with("NAME=FILE");
}

}  // namespace

std::string starting_at(const std::filesystem::path& folder, const Option& option,
                        const std::string& value) {
  if (is_file(option, value)) return (folder / value).string();
  if (!names_files(option)) return value;
  std::string text;
  for (const NamedFile& named : named_files(value, option.name)) {
    text +=
        fmt::format("{}{}={}", text.empty() ? "" : ",", named.name, (folder / named.file).string());
  }
  return text;
}

std::vector<std::filesystem::path> files_named_by(const Option& option, const std::string& value) {
  if (is_file(option, value)) return {value};
  std::vector<std::filesystem::path> files;
  if (!names_files(option)) return files;
  for (const NamedFile& named : named_files(value, option.name)) files.push_back(named.file);
  return files;
}

std::string help_text(const Command& command) {
  constexpr size_t kIndent = 28, kWidth = 100;
  std::string text =
      fmt::format("usage: isinglass {} {}[--flag value]...\n{}\n\n", command.name,
                  command.positional.empty() ? "" : "FILE ", wrap(command.summary, kWidth, 0));
  for (const Option& option : command.options) {
    std::string head = "  --" + option.name;
    if (option.type != ValueType::kSwitch) head += " " + option.unit;
    if (head.size() + 2 > kIndent) head.append("\n").append(kIndent, ' ');
    text += fmt::format("{:<{}}{}\n", head, kIndent,
                        wrap(option.help + note(option), kWidth - kIndent, kIndent));
  }
  return text;
}

}  // namespace isinglass
