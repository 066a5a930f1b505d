// Reads and writes configuration files, which hold the values of a table's options as TOML, one key
// per option. config.toml of a run directory is such a file.
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "lab/spec/option.h"

namespace isinglass {

// Returns the value of a TOML node for the option. Throws Error, beginning with `where`, if its
// type is another one; its range is not checked.
OptionValue toml_value(const Option& option, const toml::node& node, const std::string& where);

// Returns the values in a file for the command `who` ("sample"). Throws Error naming a key that the
// table lacks or that belongs on the command line.
OptionValues read_configuration(const OptionTable& table, const std::string& who,
                                const std::filesystem::path& file);

// Likewise for a text, which errors call `name`.
OptionValues read_configuration_text(const OptionTable& table, const std::string& who,
                                     const std::string& text, const std::string& name);

// Returns the stored values in the table's order, below "# isinglass WHO". Paths are made absolute,
// so that the file works from any directory. Throws OptionError if a text is not UTF-8.
std::string configuration_text(const OptionTable& table, const std::string& who,
                               const OptionValues& values);

// Returns the command whose run a directory holds ("sample"), by the first line of its config.toml;
// empty if there is none.
std::string command_of_run(const std::filesystem::path& directory);

// Names the file in the directory of a recipe (cli/commands/recipe.cpp) that holds its commands.
inline constexpr const char* kRecipeFile = "recipe.json";
// Throws Error, which names its runs, if the directory is that of a recipe.
void refuse_recipe(const std::filesystem::path& directory);

// Returns the values as JSON, such as {"radius": 5.0, …}.
nlohmann::ordered_json json_of(const OptionValues& values);

}  // namespace isinglass
