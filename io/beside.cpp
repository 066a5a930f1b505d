// See beside.h.
#include "io/beside.h"

#include <dlfcn.h>

#include <filesystem>

#include "io/error.h"

namespace isinglass {
namespace {

// Of the program or library that holds this code.
std::filesystem::path own_folder() {
  Dl_info info;
  require(dladdr(reinterpret_cast<void*>(&own_folder), &info) != 0 && info.dli_fname,
          "the system does not say where this program lies");
  return std::filesystem::canonical(info.dli_fname).parent_path();
}

}  // namespace

void* symbol_beside(const std::string& library, const std::string& symbol, const std::string& what,
                    const std::string& package) {
  const std::filesystem::path file = own_folder() / library;
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
