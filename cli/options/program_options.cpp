// Implements the options of the program itself.
#include <fmt/format.h>

#include <iterator>

#include "cli/options/options.h"
#include "lab/spec/tables.h"

namespace isinglass {

OptionTable program_options() {
  Option seed = seed_option();
  seed.type = ValueType::kInteger;
  seed.initial = int64_t{0};
  return {
      {.name = "config",
       .type = ValueType::kPath,
       .unit = "FILE",
       .help = "TOML file with one key per option; the command line overrides it",
       .stored = false},
      {.name = "device",
       .unit = "NAME",
       .help = "device to compute on: auto, cpu, cuda or cuda:N; auto takes a GPU if there is one",
       .initial = "auto",
       .adjustable = true},
      {.name = "threads",
       .type = ValueType::kInteger,
       .unit = "N",
       .help =
           "CPU threads; 0: OMP_NUM_THREADS if it is set, else all that affinity and quota allow",
       .initial = int64_t{0},
       .minimum = 0,
       .maximum = 4096,
       .adjustable = true},
      seed,
      {.name = "quiet",
       .type = ValueType::kSwitch,
       .help = "write only errors to stderr",
       .initial = false,
       .stored = false},
      {.name = "json",
       .type = ValueType::kSwitch,
       .help = "write one JSON object to stdout at the end, and nothing else",
       .initial = false,
       .stored = false},
  };
}

Option out_option(const std::string& help) {
  return {.name = "out",
          .type = ValueType::kPath,
          .unit = "DIR",
          .help = help,
          .stored = false,
          .topic = Topic::kOutput};
}

Option run_directory_option(const std::string& command) {
  return out_option(
      fmt::format("directory of the run (default: the first of runs/{0}-1, runs/{0}-2, … that does "
                  "not exist)",
                  command));
}

Option resume_option(const std::string& help) {
  return {.name = "resume",
          .type = ValueType::kPath,
          .unit = "DIR",
          .help = help,
          .stored = false,
          .topic = Topic::kOutput};
}

Option overwrite_option() {
  return {.name = "overwrite",
          .type = ValueType::kSwitch,
          .help = "replace the run that --out holds",
          .initial = false,
          .stored = false,
          .topic = Topic::kOutput};
}

void append(OptionTable& options, OptionTable more) {
  std::move(more.begin(), more.end(), std::back_inserter(options));
}

}  // namespace isinglass
