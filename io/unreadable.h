#pragma once

#include "io/error.h"

namespace isinglass {

// The system cannot read a file (no permission, a fault of the disk or the network): what is in it
// is not known, and another attempt may succeed.
class Unreadable : public Error {
 public:
  using Error::Error;
};

}  // namespace isinglass
