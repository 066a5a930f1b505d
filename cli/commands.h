// The subcommands of the program, one source file each.
#pragma once

#include <stdexcept>
#include <vector>

#include "cli/options.h"

namespace isinglass {

// Stopped by SIGINT or SIGTERM, after saving; what() says how to go on. Exit code 130.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

Command train_command();
Command sample_command();
Command evaluate_command();
Command energy_command();
Command ablate_command();
Command bench_command();
Command inspect_command();
Command report_command();

// All of them, in the order of --help.
const std::vector<Command>& commands();

// The subcommand, or an Error that lists the known ones, the nearest first.
const Command& find_command(const std::string& name);

}  // namespace isinglass
