// The options of a command line. Each subcommand has one table (lab/spec/option.h): the fields of
// its spec, its own, and those of the program; from it come the parser (cxxopts), the checks,
// configuration files, --help and the error messages.
//
// A value is, in falling order of precedence: the command line's, the one of --config FILE (or of
// the run directory that --resume names), the table's default; without any of these it is absent.
// Once parsed, options do not change: what a run made of them is its resolved spec.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lab/spec/option.h"

namespace isinglass {

class Options;

struct Command {
  std::string name;
  std::string summary;
  OptionTable options = {};
  std::string (*run)(const Options&) = nullptr;  // returns what goes to stdout
  std::string positional = "";                   // the option that a bare argument sets
  bool by_ranks = false;                         // several processes may do it together
};

// The values of one command line.
class Options {
 public:
  Options(const Command& command, OptionValues values, OptionValues said)
      : command_(&command), values_(std::move(values)), said_(std::move(said)) {}

  const Command& command() const { return *command_; }
  bool has(const std::string& name) const { return values_.contains(name); }

  // The value; Error ("--model is required by sample") if it is absent.
  bool flag(const std::string& name) const { return get<bool>(name); }
  int64_t integer(const std::string& name) const { return get<int64_t>(name); }
  double real(const std::string& name) const { return get<double>(name); }
  const std::string& text(const std::string& name) const { return get<std::string>(name); }
  std::filesystem::path path(const std::string& name) const { return get<std::string>(name); }

  // What the command line and the configuration say, without defaults: what specs are filled with.
  const OptionValues& said() const { return said_; }

  // Of a run: what its resolved spec says, with the options that are the program's.
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

// Every option with unit, range and default, by topics. Options of other samplers are left out
// where the arguments name one.
std::string help_text(const Command& command, const std::vector<std::string>& arguments);

// Options of every subcommand: config, device, threads, seed, quiet, json; those of directories.
OptionTable program_options();
Option out_option(const std::string& help);
Option resume_option(const std::string& help);
Option overwrite_option();

void append(OptionTable& options, OptionTable more);

}  // namespace isinglass
