// Names of Gloo that c10d's ProcessGroupGloo.hpp mentions. LibTorch holds Gloo and not its headers;
// nothing of these is ever made or called here but through ProcessGroupGloo, whose own functions
// LibTorch compiled against the real ones.
#pragma once

#include <chrono>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo
