// Reads TOML texts and reports mistakes as the program's Error.
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <optional>
#include <string>

#include "io/error.h"
#include "io/files.h"

namespace isinglass {

// Parses a text. `name` stands for the text in errors: a file or a preset.
inline toml::table parse_toml(const std::string& text, const std::string& name) {
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    fail("{}: line {} is not valid TOML: {}", name, error.source().begin.line, error.description());
  }
}

// Returns the text of a key in a TOML file, or nothing if the file or the key does not exist.
inline std::optional<std::string> configured_text(const std::filesystem::path& file,
                                                  const std::string& key) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  return parse_toml(read_file(file), file.string())[key].value<std::string>();
}

}  // namespace isinglass
