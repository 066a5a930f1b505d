// Returns the folder of the repository's files: ISINGLASS_SOURCE, which a bundle sets to its own
// copies, or else the tree that was compiled.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace isinglass {

inline std::filesystem::path source_tree() {
  const char* given = std::getenv("ISINGLASS_SOURCE");
  return given ? given : ISINGLASS_SOURCE_DIR;
}

}  // namespace isinglass
