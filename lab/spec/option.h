// Represents options as data: name, unit, range, default and one line of help. A table of options
// gives the checks, the configuration files (TOML), the parser of the command line and its help.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace isinglass {

enum class ValueType { kSwitch, kInteger, kReal, kText, kPath };
using OptionValue = std::variant<bool, int64_t, double, std::string>;
using OptionValues = std::map<std::string, OptionValue>;  // The keys are the options' names.

// This is the subject of an option, by which the help groups options.
enum class Topic { kModel, kSampler, kRun, kTraining, kData, kOutput, kProgram };

struct Option {
  std::string name;
  ValueType type = ValueType::kText;
  std::string unit = "";  // Names the value in the help: N, FILE, steps, …
  std::string help = "";
  std::optional<OptionValue> initial = std::nullopt;
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool above_minimum = false;             // If true, the minimum itself is not allowed.
  std::vector<std::string> choices = {};  // A text must be one of these, if there are any.
  std::vector<std::string> names = {};    // A text that is one of these is not a file name.
  bool stored = true;                     // Values are written to config.toml.
  bool adjustable = false;                // The value may differ from the run's own on resuming.
  // The option applies to these values of `objective` only. Empty means that it applies to all.
  std::vector<std::string> objectives = {};
  Topic topic = Topic::kProgram;
};

using OptionTable = std::vector<Option>;

// Returns the option, or null if the table lacks it.
const Option* find_option(const OptionTable& table, const std::string& name);

// Returns the end of a message about a name that is not in the table of the command `who`:
// "; did you mean radius? isinglass sample --help lists the options".
std::string known_options(const OptionTable& table, const std::string& name,
                          const std::string& who);

// Returns true if the option applies to this objective of training.
bool applies(const Option& option, const std::string& objective);

// Formats the range, such as "a whole number from 1 to 5".
std::string range_text(const Option& option);

// Formats a value as on the command line: "5", "true".
std::string value_text(const OptionValue& value);

// Throws Error unless the value is in the option's range or among its choices.
void check_value(const Option& option, const OptionValue& value);

// Returns whether a value of the option is the name of a file.
bool is_file(const Option& option, const std::string& value);

// Returns the value with the relative paths of its files, if any, resolved against the folder.
std::string starting_at(const std::filesystem::path& folder, const Option& option,
                        const std::string& value);
OptionValues starting_at(const std::filesystem::path& folder, const OptionTable& table,
                         OptionValues values);

// Returns the files that the value names, if any.
std::vector<std::filesystem::path> files_named_by(const Option& option, const std::string& value);

}  // namespace isinglass
