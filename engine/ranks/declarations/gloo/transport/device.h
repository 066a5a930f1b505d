// Declares Gloo's transport types for ProcessGroupGloo.hpp (see gloo/context.h).
#pragma once

namespace gloo::transport {

class Device;
class UnboundBuffer {
 public:
  virtual ~UnboundBuffer();
};

}  // namespace gloo::transport
