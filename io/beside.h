// Where this code lies, and libraries of its own that bring large ones along (HDF5): they lie beside
// the program, are loaded when first needed, and stay out of the archive for other machines.
#pragma once

#include <filesystem>
#include <string>

namespace isinglass {

// The program, or the library (Python's extension module), that holds this code.
std::filesystem::path own_file();

// The address of `symbol` in `library` beside the program. The library stays loaded for the life of
// the program: HDF5 cannot be unloaded safely. Throws Error, beginning with `what` and naming the
// Debian `package` of what the library brings, if it cannot be loaded or lacks the symbol.
void* symbol_beside(const std::string& library, const std::string& symbol, const std::string& what,
                    const std::string& package);

}  // namespace isinglass
