// Defines the error for files that cannot be read but may be readable later.
#pragma once

#include "io/error.h"

namespace isinglass {

// Reports that the system cannot read a file (no permission, a disk or network failure). Its
// content is unknown, and another attempt may succeed.
class Unreadable : public Error {
 public:
  using Error::Error;
};

}  // namespace isinglass
