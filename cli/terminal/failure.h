// Reports an exception that ends a command as an exit code and one line.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

namespace isinglass {

// A failure whose exit code is known, with a message that also says what is kept of the work. It
// replaces an earlier exception.
class Failed : public std::runtime_error {
 public:
  Failed(int code, const std::string& message) : std::runtime_error(message), code(code) {}

  const int code;
};

inline constexpr const char *kError = "error: ", *kInterrupted = "interrupted: ",
                            *kLost = "lost: ";  // another rank was lost

struct Failure {
  int code;
  std::string kind, message;
};

inline constexpr int kNumericalFailure = 3;  // exit code

// Returns the exit code and line of an exception: 2 for Error, std::bad_alloc and memory that
// LibTorch could not allocate, 3 for NumericalError, 130 for Interrupted, its own code for Failed,
// and 1 for all others, including RankLost.
Failure failure_of(std::exception_ptr exception);

}  // namespace isinglass
