// Configuration files: the values of a table's options as TOML, one key an option. config.toml of a
// run directory is one.
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "lab/spec/option.h"

namespace isinglass {

// The value of a TOML node for the option. Throws Error, beginning with `where`, if it is of
// another type; its range is not checked.
OptionValue toml_value(const Option& option, const toml::node& node, const std::string& where);

// The values of a file for `who` ("sample"). Throws Error naming a key that the table lacks, or
// that belongs on the command line.
OptionValues read_configuration(const OptionTable& table, const std::string& who,
                                const std::filesystem::path& file);

// The stored values in the table's order, below "# isinglass WHO"; paths are made absolute, so that
// the file serves from any directory.
std::string configuration_text(const OptionTable& table, const std::string& who,
                               const OptionValues& values);

// {"radius": 5.0, …}
nlohmann::ordered_json json_of(const OptionValues& values);

}  // namespace isinglass
