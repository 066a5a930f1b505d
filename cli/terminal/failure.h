// What ends a command before its time, as the program reports it: an exit code and one line.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

namespace isinglass {

// A failure whose exit code is known: what an earlier exception came to, and what is kept of the
// work.
class Failed : public std::runtime_error {
 public:
  Failed(int code, const std::string& message) : std::runtime_error(message), code(code) {}

  const int code;
};

inline constexpr const char *kError = "error: ", *kInterrupted = "interrupted: ",
                            *kLost = "lost: ";  // another rank

struct Failure {
  int code;
  std::string kind, message;
};

inline constexpr int kNumericalFailure = 3;  // the exit code

// Error, std::bad_alloc: 2; NumericalError: 3; Interrupted: 130; Failed: its own; all others, among
// them RankLost: 1.
Failure failure_of(std::exception_ptr exception);

}  // namespace isinglass
