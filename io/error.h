// Defines the errors that a user can cause and failures of a computation. The program maps them to
// its exit codes. Impossible states inside the library are assertions instead.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace isinglass {

// Reports bad usage or bad input. The message is a sentence that names the value and what would be
// right. Exit code 2.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Reports an invalid option, or options that cannot be combined. The message writes the name of an
// option in backquotes, as `name`; what() returns it without the backquotes.
class OptionError : public Error {
 public:
  // Makes the message "`option` is value; allowed"; without a value, `allowed` is the whole
  // message.
  OptionError(std::string option, std::string value, std::string allowed);

  // Returns the message with the options' names as a front end writes them: --radius on the command
  // line, radius= in Python.
  std::string sentence(std::string_view before, std::string_view after = "") const;

  std::string option, value, allowed;
};

// Returns any such text with the options' names as a front end writes them.
std::string spell_options(std::string_view text, std::string_view before,
                          std::string_view after = "");

// Returns the first option that such a text names; empty if it names none.
std::string first_option(std::string_view text);

// Returns the system's sentence about errno.
std::string system_reason();

// Reports a failed computation (divergence, non-finite values). Exit code 3.
class NumericalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> message, Args&&... args) {
  throw Error(fmt::format(message, std::forward<Args>(args)...));
}

template <class Value, class... Args>
[[noreturn]] void fail_option(const char* option, const Value& value,
                              fmt::format_string<Args...> allowed, Args&&... args) {
  throw OptionError(option, fmt::format("{}", value),
                    fmt::format(allowed, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail_options(fmt::format_string<Args...> sentence, Args&&... args) {
  const std::string text = fmt::format(sentence, std::forward<Args>(args)...);
  throw OptionError(first_option(text), "", text);
}

}  // namespace isinglass

// require(condition, message, args…) throws Error with the message unless the condition holds. It
// is a macro, like assert: the arguments are evaluated after the condition and only if it fails, so
// that errno is still that of the call in the condition, and success formats nothing.
#define require(condition, ...) \
  (static_cast<bool>(condition) ? void() : ::isinglass::fail(__VA_ARGS__))

// require_option(condition, name, value, what is allowed, args…) does the same for one option, and
// require_options(condition, sentence, args…) for options that a whole sentence names.
#define require_option(condition, ...) \
  (static_cast<bool>(condition) ? void() : ::isinglass::fail_option(__VA_ARGS__))
#define require_options(condition, ...) \
  (static_cast<bool>(condition) ? void() : ::isinglass::fail_options(__VA_ARGS__))
