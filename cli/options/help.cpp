// Implements --help of a subcommand.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "cli/options/options.h"
#include "engine/options.h"
#include "engine/registry.h"
#include "engine/sampler.h"
#include "io/error.h"

namespace isinglass {
namespace {

// The topics in the order in which they are shown.
const std::vector<std::pair<Topic, const char*>> kTopics = {
    {Topic::kModel, "model"},       {Topic::kSampler, "sampler"}, {Topic::kRun, "chains and steps"},
    {Topic::kTraining, "training"}, {Topic::kData, "data"},       {Topic::kOutput, "output"},
    {Topic::kProgram, "program"}};

std::string note(const Option& option) {
  std::vector<std::string> parts;
  if (!option.choices.empty()) parts.push_back(fmt::format("{}", fmt::join(option.choices, ", ")));
  if (option.type == ValueType::kInteger || option.type == ValueType::kReal) {
    parts.push_back(range_text(option));
  }
  if (option.initial && option.type != ValueType::kSwitch) {
    parts.push_back("default " + value_text(*option.initial));
  }
  if (option.type == ValueType::kSwitch && option.initial != OptionValue(false)) {
    parts.push_back((option.initial ? "default on; --no-" : "--no-") + option.name +
                    " turns it off");
  }
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, "; "));
}

// Breaks `text` into lines of `width` characters and indents all lines but the first.
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

std::string option_text(const Option& option) {
  constexpr size_t kIndent = 28, kWidth = 100;
  std::string head = "  --" + option.name;
  if (option.type != ValueType::kSwitch) head += " " + option.unit;
  if (head.size() + 2 > kIndent) head.append("\n").append(kIndent, ' ');
  const std::string help = spell_options(option.help, "--") + note(option);
  return fmt::format("{:<{}}{}\n", head, kIndent, wrap(help, kWidth - kIndent, kIndent));
}

// Returns the sampler that the arguments name; null if they name none.
const SamplerEntry* named_sampler(const std::vector<std::string>& arguments) {
  const std::string flag = "--sampler";
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with(flag + "=")) {
      return &find_sampler(arguments[i].substr(flag.size() + 1));
    }
    if (arguments[i] == flag && i + 1 < arguments.size()) return &find_sampler(arguments[i + 1]);
  }
  return nullptr;
}

bool of_other_samplers(const Option& option, const SamplerEntry* sampler) {
  if (!sampler || option.topic != Topic::kSampler) return false;
  const std::vector<SamplerOption>& all = sampler_options();
  return !sampler->option(option.name) &&
         std::any_of(all.begin(), all.end(),
                     [&](const SamplerOption& known) { return known.name == option.name; });
}

// Returns the option with the range and the default that this sampler has for it.
Option as_read_by(Option option, const SamplerEntry* sampler) {
  const SamplerOptionUse* use =
      sampler && option.topic == Topic::kSampler ? sampler->option(option.name) : nullptr;
  if (!use || option.type != ValueType::kReal) return option;
  option.minimum = use->least;
  option.maximum = use->most;
  option.above_minimum = use->above_least;
  if (use->initial) option.initial = *use->initial;
  return option;
}

// Returns the bare arguments of a command, such as "FILE ".
std::string bare_arguments(const Command& command) {
  std::string text;
  for (const std::string& name : command.positional) {
    text += find_option(command.options, name)->unit + " ";
  }
  return text;
}

}  // namespace

std::string help_text(const Command& command, const std::vector<std::string>& arguments) {
  const SamplerEntry* sampler = named_sampler(arguments);
  std::string text = fmt::format("usage: isinglass {} {}[--flag value]...\n{}\n", command.name,
                                 bare_arguments(command), wrap(command.summary, 100, 0));
  for (const auto& [topic, title] : kTopics) {
    std::string lines;
    for (const Option& option : command.options) {
      if (option.topic != topic || of_other_samplers(option, sampler)) continue;
      lines += option_text(as_read_by(option, sampler));
    }
    const std::string of = topic == Topic::kSampler && sampler ? " " + sampler->name : "";
    if (!lines.empty()) text += fmt::format("\n{}{}\n{}", title, of, lines);
  }
  const bool samplers = find_option(command.options, "sampler") && !sampler;
  return samplers
             ? text + "\nWith --sampler NAME, --help leaves out the options of other samplers.\n"
             : text;
}

}  // namespace isinglass
