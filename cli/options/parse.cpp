// Implements the parsing of command lines and configuration files.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cxxopts.hpp>
#include <optional>
#include <utility>

#include "cli/options/options.h"
#include "io/error.h"
#include "lab/presets/presets.h"
#include "lab/spec/configuration.h"
#include "lab/spec/idle.h"
#include "models/near_name.h"
#include "models/registry.h"

namespace isinglass {
namespace {

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
    const bool whole = text.find_first_not_of("0123456789") == std::string::npos;
    if (!value) refuse(range_text(option) + (whole ? ", below 2^63," : ""));
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

const Option& known_option(const Command& command, const std::string& name,
                           const std::string& what) {
  const Option* option = find_option(command.options, name);
  if (!option) {
    std::vector<std::string> names;
    for (const Option& known : command.options) names.push_back(known.name);
    const std::string near = near_name(name, names);
    fail("{}; {}isinglass {} --help lists the options", what,
         near.empty() ? "" : fmt::format("did you mean --{}? ", near), command.name);
  }
  return *option;
}

std::string without_dashes(const std::string& flag) {
  return flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
}

// Throws Error for a flag that is not in the table, or for one that is but lacks a dash.
[[noreturn]] void refuse_flag(const Command& command, const std::string& flag) {
  const std::string name = without_dashes(flag);
  known_option(command, name.substr(0, name.find('=')), "unknown flag " + flag);
  fail("unknown flag {}; write --{}", flag, name);
}

// Translates --no-base to --base=false. This applies to switches that are not off by default.
std::string without_no(const Command& command, const std::string& argument) {
  for (const Option& option : command.options) {
    const bool on = option.type == ValueType::kSwitch && option.initial != OptionValue(false);
    if (on && argument == "--no-" + option.name) return "--" + option.name + "=false";
  }
  return argument;
}

bool takes_several(const Command& command, const std::string& name) {
  return command.several && command.positional.back() == name;
}

OptionValues read_command_line(const Command& command, std::vector<std::string> arguments) {
  for (std::string& argument : arguments) argument = without_no(command, argument);
  for (const std::string& argument : arguments) {  // cxxopts would take -steps for -s -t -e -p -s
    const bool single = argument.size() > 1 && argument[0] == '-' && std::isalpha(argument[1]);
    if (single) refuse_flag(command, argument);
  }
  cxxopts::Options parser("isinglass " + command.name);
  parser.allow_unrecognised_options();
  for (const Option& option : command.options) {
    if (takes_several(command, option.name)) {
      parser.add_options()(option.name, option.help, cxxopts::value<std::vector<std::string>>());
      continue;
    }
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
  } catch (const cxxopts::exceptions::exception&) {  // only the last argument can lack a value
    const std::string name = without_dashes(arguments.back());
    fail("--{} needs a value: {}", name, known_option(command, name, "--" + name).unit);
  }
  for (const std::string& unmatched : result.unmatched()) {
    if (!unmatched.starts_with("-") || unmatched.size() < 2) continue;
    refuse_flag(command, unmatched);
  }
  require(result.unmatched().empty(), "unexpected argument '{}'; {} takes {}",
          result.unmatched().empty() ? "" : result.unmatched().front(), command.name,
          command.positional.empty() ? "flags only" : "one bare argument");
  OptionValues values;
  for (const auto& argument : result.arguments()) {
    const Option& option = known_option(command, argument.key(), "unknown flag " + argument.key());
    const auto [value, fresh] = values.emplace(option.name, parse_value(option, argument.value()));
    if (!fresh && takes_several(command, option.name)) {
      std::get<std::string>(value->second) += "," + argument.value();
      continue;
    }
    require(fresh, "--{} is given twice", option.name);
  }
  return values;
}

std::filesystem::path configuration_file(const Command& command, const OptionValues& flags) {
  const auto config = flags.find("config"), resume = flags.find("resume");
  if (resume == flags.end()) {
    return config == flags.end() ? std::string() : std::get<std::string>(config->second);
  }
  require(
      config == flags.end(),
      "--config and --resume exclude each other, because a resumed run has its own config.toml");
  const std::filesystem::path directory = std::get<std::string>(resume->second);
  refuse_recipe(directory);
  require(std::filesystem::exists(directory / "config.toml"),
          "--resume {} is not a run directory, because it has no config.toml", directory.string());
  const std::string other = command_of_run(directory);
  require(other.empty() || other == command.name,
          "--resume {} is a run of `isinglass {}`, and not of {}; `isinglass {} --resume {}` "
          "continues it, if it can be continued",
          directory.string(), other, command.name, other, directory.string());
  return directory / "config.toml";
}

// Throws Error if the run trained a module in Python, which the program does not have.
void require_own_model(const OptionValues& configured, const std::filesystem::path& file) {
  const auto model = configured.find("model");
  if (model == configured.end()) return;
  const std::string& name = std::get<std::string>(model->second);
  const auto& known = model_registry();
  require(
      std::any_of(known.begin(), known.end(),
                  [&](const ModelEntry& entry) { return entry.name == name; }),
      "the model '{}' of {} is a program's own and known in Python only, where the same call of "
      "isinglass.train with out= this directory continues the run",
      name, file.string());
}

// Throws Error if a resumed run would change a setting that is not adjustable.
void check_resumed(const Option& option, const OptionValue& flag, const OptionValue* setting) {
  if (!option.stored || option.adjustable) return;
  require(setting && *setting == flag,
          "--{} is {} but the run has {}; a resumed run keeps its settings", option.name,
          value_text(flag), setting ? value_text(*setting) : "none");
}

const OptionValue* value_in(const OptionValues& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

// Returns the values of --preset, without what given ones replace as a whole: with another model
// or sampler, the preset's options of its own do not apply.
OptionValues preset_values(const Command& command, const OptionValues& flags,
                           const OptionValues& configured) {
  const OptionValue* name = value_in(flags, "preset");
  if (!command.presets || !name) return {};
  require(
      !flags.contains("resume"),
      "--preset and --resume exclude each other, because a resumed run has its own config.toml");
  const std::string& preset = std::get<std::string>(*name);
  const std::vector<std::string> recipes = preset_names(recipe_presets());
  require(std::find(recipes.begin(), recipes.end(), preset) == recipes.end(),
          "{0} is a recipe of several commands; isinglass recipe {0} runs it", preset);
  OptionValues values = read_configuration_text(
      command.options, command.name, preset_text(command.presets(), preset), "preset " + preset);
  for (const auto& [selector, topic] :
       {std::pair{"model", Topic::kModel}, std::pair{"sampler", Topic::kSampler}}) {
    const OptionValue* flag = value_in(flags, selector);
    const OptionValue* given = flag ? flag : value_in(configured, selector);
    const OptionValue* own = value_in(values, selector);
    if (!given || !own || *given == *own) continue;
    for (const Option& option : command.options) {
      if (option.topic == topic) values.erase(option.name);
    }
  }
  return values;
}

}  // namespace

const OptionValue& Options::at(const std::string& name) const {
  const OptionValue* value = value_in(values_, name);
  require(value, "--{} is required by {}", name, command_->name);
  return *value;
}

OptionValues Options::of_run(OptionValues resolved) const {
  for (const char* name : {"device", "threads"}) {
    if (const OptionValue* value = value_in(values_, name)) resolved.emplace(name, *value);
  }
  return resolved;
}

Options parse_options(const Command& command, const std::vector<std::string>& arguments) {
  const OptionValues flags = read_command_line(command, arguments);
  const std::filesystem::path file = configuration_file(command, flags);
  const OptionValues configured =
      file.empty() ? OptionValues{} : read_configuration(command.options, command.name, file);
  if (flags.contains("resume")) require_own_model(configured, file);
  const OptionValues preset = preset_values(command, flags, configured);
  OptionValues values, said;
  for (const Option& option : command.options) {
    const OptionValue* flag = value_in(flags, option.name);
    const OptionValue* configuration = value_in(configured, option.name);
    const OptionValue* setting = configuration ? configuration : value_in(preset, option.name);
    if (flag && flags.contains("resume")) check_resumed(option, *flag, setting);
    if (const OptionValue* value = flag ? flag : setting) {
      check_value(option, *value);
      said.emplace(option.name, *value);
      values.emplace(option.name, *value);
    } else if (option.initial) {
      values.emplace(option.name, *option.initial);
    }
  }
  refuse_idle(command.name, flags, said);
  return Options(command, std::move(values), std::move(said));
}

}  // namespace isinglass
