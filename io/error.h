// The errors a user can cause, and the failures of a computation. The program maps them to its exit
// codes; inside the library an impossible state is an assertion instead.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace isinglass {

// Bad usage or bad input: the sentence names the value and what would be right. Exit code 2.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The computation failed (divergence, non-finite values). Exit code 3.
class NumericalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> message, Args&&... args) {
  throw Error(fmt::format(message, std::forward<Args>(args)...));
}

}  // namespace isinglass

// require(condition, message, args…) fails with the message unless the condition holds. A macro, as
// assert is one: the arguments are evaluated after the condition, and only where it does not hold,
// so that errno is that of the call in the condition and a good path formats nothing.
#define require(condition, ...) \
  (static_cast<bool>(condition) ? void() : ::isinglass::fail(__VA_ARGS__))
