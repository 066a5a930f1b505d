// TOML texts, with the program's kind of error.
#pragma once

#include <toml++/toml.h>

#include <string>

#include "io/error.h"

namespace isinglass {

// `name` stands for the text in errors: a file, or a preset.
inline toml::table parse_toml(const std::string& text, const std::string& name) {
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    fail("{} line {}: not TOML: {}", name, error.source().begin.line, error.description());
  }
}

}  // namespace isinglass
