// Implements the messages of errors and the spelling of option names.
#include "io/error.h"

#include <cerrno>
#include <system_error>
#include <utility>

namespace isinglass {
namespace {

struct Name {
  size_t begin, length;  // of the text between the quotes
};

// Returns the first name at or after `from`; npos if there is none. Backquotes around anything but
// an option's name are ordinary text.
Name find_name(std::string_view text, size_t from) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  for (size_t quote = text.find('`', from); quote != std::string_view::npos;
       quote = text.find('`', quote + 1)) {
    const size_t end = text.find_first_not_of(kLetters, quote + 1);
    if (end != std::string_view::npos && text[end] == '`' && end > quote + 1) {
      return {quote + 1, end - quote - 1};
    }
  }
  return {std::string_view::npos, 0};
}

std::string sentence_of(const std::string& option, const std::string& value,
                        const std::string& allowed) {
  return value.empty() ? allowed : fmt::format("`{}` is {}; {}", option, value, allowed);
}

}  // namespace

std::string system_reason() {
  return std::generic_category().message(errno);
}

std::string spell_options(std::string_view text, std::string_view before, std::string_view after) {
  std::string out;
  size_t from = 0;
  for (Name name = find_name(text, 0); name.length > 0; name = find_name(text, from)) {
    out.append(text.substr(from, name.begin - 1 - from)).append(before);
    out.append(text.substr(name.begin, name.length)).append(after);
    from = name.begin + name.length + 1;
  }
  return out.append(text.substr(from));
}

std::string first_option(std::string_view text) {
  const Name name = find_name(text, 0);
  return name.length > 0 ? std::string(text.substr(name.begin, name.length)) : std::string();
}

OptionError::OptionError(std::string option, std::string value, std::string allowed)
    : Error(spell_options(sentence_of(option, value, allowed), "")),
      option(std::move(option)),
      value(std::move(value)),
      allowed(std::move(allowed)) {}

std::string OptionError::sentence(std::string_view before, std::string_view after) const {
  return spell_options(sentence_of(option, value, allowed), before, after);
}

}  // namespace isinglass
