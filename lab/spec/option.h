// Options as data: name, unit, range, default and one line of help. From a table of them come the
// checks, configuration files (TOML), a command line's parser and its help.
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
using OptionValues = std::map<std::string, OptionValue>;  // by the option's name

// What an option is about; help is grouped by it.
enum class Topic { kModel, kSampler, kRun, kTraining, kData, kOutput, kProgram };

struct Option {
  std::string name;
  ValueType type = ValueType::kText;
  std::string unit = "";  // what the help calls the value: N, FILE, steps, …
  std::string help = "";
  std::optional<OptionValue> initial = std::nullopt;
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool above_minimum = false;             // the minimum itself is refused
  std::vector<std::string> choices = {};  // of a text
  std::vector<std::string> names = {};    // of a text that otherwise is a file
  bool stored = true;                     // written to config.toml
  bool adjustable = false;                // may differ from the run's own value when it is resumed
  Topic topic = Topic::kProgram;
};

using OptionTable = std::vector<Option>;

// The option; null if the table lacks it.
const Option* find_option(const OptionTable& table, const std::string& name);

// "; sample knows: radius, …", the names nearest to `name` first: the end of a message about a name
// that is not in the table of `who`.
std::string known_options(const OptionTable& table, const std::string& name,
                          const std::string& who);

// "a whole number from 1 to 5"
std::string range_text(const Option& option);

// As the command line would have it: "5", "true".
std::string value_text(const OptionValue& value);

// Throws Error unless the value is in the option's range, or among its choices.
void check_value(const Option& option, const OptionValue& value);

// Whether a value of the option is a file's name.
bool is_file(const Option& option, const std::string& value);

// The value with the files that it names, if any, starting at the folder where they are relative.
std::string starting_at(const std::filesystem::path& folder, const Option& option,
                        const std::string& value);
OptionValues starting_at(const std::filesystem::path& folder, const OptionTable& table,
                         OptionValues values);

// The files that the value names, if any.
std::vector<std::filesystem::path> files_named_by(const Option& option, const std::string& value);

}  // namespace isinglass
