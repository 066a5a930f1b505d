// Implements the search for the program's own file and the loading of libraries next to it.
#include "io/beside.h"

#include <dlfcn.h>
#include <link.h>

#include "io/error.h"

namespace isinglass {

// Reads the name from the list of loaded libraries. A program has an empty name there, and the one
// on its command line may be relative to $PATH, so that /proc/self/exe is used instead.
std::filesystem::path own_file() {
  Dl_info info;
  link_map* loaded = nullptr;
  require(dladdr1(reinterpret_cast<void*>(&own_file), &info, reinterpret_cast<void**>(&loaded),
                  RTLD_DL_LINKMAP) != 0,
          "the system does not report the path of this program's file");
  return std::filesystem::canonical(*loaded->l_name ? loaded->l_name : "/proc/self/exe");
}

void* symbol_beside(const std::string& library, const std::string& symbol, const std::string& what,
                    const std::string& package) {
  const std::filesystem::path file = own_file().parent_path() / library;
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    fail("{} needs the file {} in the program's folder and Debian's package {}: {}", what, library,
         package, dlerror());
  }
  void* address = dlsym(handle, symbol.c_str());
  require(address != nullptr, "{} is not the library that this program needs: it lacks {}",
          file.string(), symbol);
  return address;
}

}  // namespace isinglass
