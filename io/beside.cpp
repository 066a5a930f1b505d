// See beside.h.
#include "io/beside.h"

#include <dlfcn.h>

#include <filesystem>

#include "io/error.h"

namespace isinglass {

void* symbol_beside(const std::string& library, const std::string& symbol, const std::string& what,
                    const std::string& package) {
  namespace fs = std::filesystem;
  const fs::path file = fs::read_symlink("/proc/self/exe").parent_path() / library;
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    fail("{} needs {} beside the program and Debian's package {}: {}", what, library, package,
         dlerror());
  }
  void* address = dlsym(handle, symbol.c_str());
  require(address != nullptr, "{} is not the library of this program: it lacks {}", file.string(),
          symbol);
  return address;
}

}  // namespace isinglass
