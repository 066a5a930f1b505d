// Locates the program's own file, and loads libraries that depend on large third-party ones (HDF5).
// Such libraries lie in the program's directory, are loaded on first use, and are not part of the
// archive for other machines.
#pragma once

#include <filesystem>
#include <string>

namespace isinglass {

// Returns the file that contains this code: the program, or the library (Python's extension
// module).
std::filesystem::path own_file();

// Returns the address of `symbol` in `library`, which is looked for in the program's directory. The
// library stays loaded until the program ends, because HDF5 cannot be unloaded safely. Throws Error
// if it cannot be loaded or lacks the symbol; the message begins with `what` and names the Debian
// `package` that the library depends on.
void* symbol_beside(const std::string& library, const std::string& symbol, const std::string& what,
                    const std::string& package);

}  // namespace isinglass
