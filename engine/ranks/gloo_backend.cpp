// Makes the Gloo process group of c10d. Gloo's own headers are replaced by the names in
// declarations/.
#ifndef USE_C10D_GLOO  // LibTorch was built with this macro
#define USE_C10D_GLOO
#endif
#include <cstdlib>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "engine/ranks/backends.h"

namespace isinglass {

Backend gloo_backend(const Store& store, const RankInfo& place) {
  using Gloo = c10d::ProcessGroupGloo;
  const auto options = Gloo::Options::create(kPatience);
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  options->devices = {interface && *interface ? Gloo::createDeviceForInterface(interface)
                      : place.one_machine()   ? Gloo::createDeviceForHostname("127.0.0.1")
                                              : Gloo::createDefaultDevice()};
  options->threads = 1;
  return c10::make_intrusive<Gloo>(store, static_cast<int>(place.rank),
                                   static_cast<int>(place.size), options);
}

}  // namespace isinglass
