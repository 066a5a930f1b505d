// Options are data: one table per subcommand, from which come the parser (cxxopts), the checks, the
// configuration files (TOML), --help and the error messages.
//
// A value is, in falling order of precedence: the command line's, the one of --config FILE (or of
// the run directory that --resume names), the table's default; without any of these it is absent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace isinglass {

enum class ValueType { kSwitch, kInteger, kReal, kText, kPath };
using OptionValue = std::variant<bool, int64_t, double, std::string>;

struct Option {
  std::string name;  // without the dashes
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
  bool adjustable = false;                // may differ from the run's own value on --resume
};

class Options;

struct Command {
  std::string name;
  std::string summary;
  std::vector<Option> options = {};
  std::string (*run)(Options&) = nullptr;  // returns what goes to stdout
  std::string positional = "";             // the option that a bare argument sets
};

// The values of one command line.
class Options {
 public:
  explicit Options(const Command& command) : command_(&command) {}

  const Command& command() const { return *command_; }
  const OptionValue* find(const std::string& name) const;  // null: absent
  bool has(const std::string& name) const { return find(name) != nullptr; }
  // On the command line or in the configuration: not merely the default.
  bool given(const std::string& name) const { return given_.contains(name); }

  // The value; Error ("--model is required by sample") if it is absent.
  bool flag(const std::string& name) const { return get<bool>(name); }
  int64_t integer(const std::string& name) const { return get<int64_t>(name); }
  double real(const std::string& name) const { return get<double>(name); }
  const std::string& text(const std::string& name) const { return get<std::string>(name); }
  std::filesystem::path path(const std::string& name) const { return get<std::string>(name); }

  // What the program resolved: a default that depends on other values.
  void set(const std::string& name, OptionValue value) { values_[name] = std::move(value); }
  void unset(const std::string& name) { values_.erase(name); }
  void set_given(const std::string& name, OptionValue value);

  // The stored values as TOML: config.toml of a run directory.
  std::string to_toml() const;

 private:
  template <class T>
  const T& get(const std::string& name) const {
    return std::get<T>(at(name));
  }
  const OptionValue& at(const std::string& name) const;

  const Command* command_;
  std::map<std::string, OptionValue> values_;
  std::set<std::string> given_;
};

// Reads the arguments that follow the subcommand. Throws Error on an unknown, repeated, misspelt,
// missing or out-of-range option, and on a resumed run whose settings the command line changes.
Options parse_options(const Command& command, const std::vector<std::string>& arguments);

// The value with the files that it names, if any, starting at the folder where they are relative.
std::string starting_at(const std::filesystem::path& folder, const Option& option,
                        const std::string& value);

// The files that the value names, if any.
std::vector<std::filesystem::path> files_named_by(const Option& option, const std::string& value);

// Every option with unit, range and default.
std::string help_text(const Command& command);

}  // namespace isinglass
