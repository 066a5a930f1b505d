// Implements the table of subcommands.
#include "cli/commands/commands.h"

#include <fmt/ranges.h>

#include "io/error.h"
#include "models/registry.h"

namespace isinglass {

const std::vector<Command>& commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> list = {
        train_command(), sample_command(),  evaluate_command(), energy_command(), ablate_command(),
        bench_command(), inspect_command(), report_command(),   data_command(),   recipe_command()};
    for (Command& command : list) {
      for (Option& option : program_options()) {
        if (!find_option(command.options, option.name)) command.options.push_back(option);
      }
    }
    return list;
  }();
  return all;
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  fail("unknown subcommand '{}'; known: {}", name, fmt::join(nearest_first(name, names), ", "));
}

}  // namespace isinglass
