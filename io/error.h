// The errors a user can cause, and the failures of a computation. The program maps them to its exit
// codes; inside the library an impossible state is an assertion instead.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace isinglass {

// Bad usage or bad input: the sentence names the value and what would be right. Exit code 2.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An option that is wrong, or options that do not go together. Its sentence writes the name of an
// option as `name`, in backquotes; what() has the bare names.
class OptionError : public Error {
 public:
  // "`option` is value; allowed"; without a value, `allowed` is the whole sentence.
  OptionError(std::string option, std::string value, std::string allowed);

  // The sentence with the names as a front end writes them: the command line --radius, Python
  // radius=.
  std::string sentence(std::string_view before, std::string_view after = "") const;

  std::string option, value, allowed;
};

// Any text that names options so, with the names as a front end writes them.
std::string spell_options(std::string_view text, std::string_view before,
                          std::string_view after = "");

// The first option that such a text names; empty: none.
std::string first_option(std::string_view text);

// The computation failed (divergence, non-finite values). Exit code 3.
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

// require(condition, message, args…) fails with the message unless the condition holds. A macro, as
// assert is one: the arguments are evaluated after the condition, and only where it does not hold,
// so that errno is that of the call in the condition and a good path formats nothing.
#define require(condition, ...) \
  (static_cast<bool>(condition) ? void() : ::isinglass::fail(__VA_ARGS__))

// The same of one option, require_option(condition, name, value, what is allowed, args…), and of
// options that a whole sentence names, require_options(condition, sentence, args…).
#define require_option(condition, ...) \
  (static_cast<bool>(condition) ? void() : ::isinglass::fail_option(__VA_ARGS__))
#define require_options(condition, ...) \
  (static_cast<bool>(condition) ? void() : ::isinglass::fail_options(__VA_ARGS__))
