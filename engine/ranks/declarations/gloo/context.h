// Declares the names of Gloo that c10d's ProcessGroupGloo.hpp mentions. LibTorch contains Gloo but
// not its headers. Objects of these types are created and called only through ProcessGroupGloo,
// whose functions LibTorch compiled against the real headers.
#pragma once

#include <chrono>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo
