// The subcommands of the program, one source file each.
#pragma once

#include <vector>

#include "cli/options/options.h"
#include "cli/terminal/failure.h"

namespace isinglass {

Command train_command();
Command sample_command();
Command evaluate_command();
Command energy_command();
Command ablate_command();
Command bench_command();
Command inspect_command();
Command data_command();
Command report_command();
Command recipe_command();

// Returns all subcommands, in the order of --help.
const std::vector<Command>& commands();

// Returns the subcommand. Throws Error, which lists the known ones with the nearest name first, if
// there is none of this name.
const Command& find_command(const std::string& name);

}  // namespace isinglass
