// The options of a command line. Each subcommand has one table (lab/spec/option.h) with the fields
// of its spec, the command's own options, and those of the program. The parser (cxxopts), the
// checks, configuration files, --help and the error messages are derived from this table.
//
// A value comes, in falling order of precedence, from the command line, from --config FILE (or the
// run directory that --resume names), from --preset NAME of `train`, or from the table's default;
// otherwise it is absent. Parsed
// options do not change. What a run derives from them is its resolved spec.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lab/embedded.h"
#include "lab/spec/option.h"

namespace isinglass {

class Options;

struct Command {
  std::string name;
  std::string summary;
  OptionTable options = {};
  std::string (*run)(const Options&) = nullptr;  // returns the text for stdout
  // The options that bare arguments set, in this order. If `several` is true, the last one takes
  // all that remain, joined by commas.
  std::vector<std::string> positional = {};
  bool several = false;
  bool by_ranks = false;  // several processes may run it together
  // The configurations that --preset selects; null: the command has none.
  const std::vector<EmbeddedFile>& (*presets)() = nullptr;
};

// The values of one command line.
class Options {
 public:
  Options(const Command& command, OptionValues values, OptionValues said)
      : command_(&command), values_(std::move(values)), said_(std::move(said)) {}

  const Command& command() const { return *command_; }
  bool has(const std::string& name) const { return values_.contains(name); }

  // These return the value. They throw Error ("--model is required by sample") if it is absent.
  bool flag(const std::string& name) const { return get<bool>(name); }
  int64_t integer(const std::string& name) const { return get<int64_t>(name); }
  double real(const std::string& name) const { return get<double>(name); }
  const std::string& text(const std::string& name) const { return get<std::string>(name); }
  std::filesystem::path path(const std::string& name) const { return get<std::string>(name); }

  // Returns the values that the command line and the configuration give, without defaults; specs
  // are filled with these.
  const OptionValues& said() const { return said_; }

  // Returns the options of a run: those of its resolved spec, and those of the program.
  OptionValues of_run(OptionValues resolved) const;

 private:
  template <class T>
  const T& get(const std::string& name) const {
    return std::get<T>(at(name));
  }
  const OptionValue& at(const std::string& name) const;

  const Command* command_;
  OptionValues values_, said_;
};

// Reads the arguments that follow the subcommand. Throws Error on an unknown, repeated, misspelt,
// missing or out-of-range option, and on a resumed run whose settings the command line changes.
Options parse_options(const Command& command, const std::vector<std::string>& arguments);

// Returns the help of a command: every option with unit, range and default, by topics. If the
// arguments name a sampler, the options of other samplers are left out.
std::string help_text(const Command& command, const std::vector<std::string>& arguments);

// The options of every subcommand (config, device, threads, seed, quiet, json), and those of
// directories.
OptionTable program_options();
Option out_option(const std::string& help);
Option run_directory_option(const std::string& command);
Option resume_option(const std::string& help);
Option overwrite_option();

void append(OptionTable& options, OptionTable more);

}  // namespace isinglass
