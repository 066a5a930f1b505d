// Implements the comparison of settings by their texts.
#include "io/settings.h"

#include <algorithm>

#include "io/error.h"

namespace isinglass {
namespace {

struct AsText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return fmt::to_string(value); }
  // The text is exact: the shortest one that gives the same double.
  std::string operator()(double value) const { return fmt::to_string(value); }
  std::string operator()(const std::string& value) const { return value; }
  template <class Other>
  std::string operator()(const Other&) const {
    return "neither a number nor text";
  }
};

constexpr std::string_view kHash = "_sha256";
constexpr size_t kDigits = 8;  // of a hash are shown

// Returns "data" for "data_sha256".
std::string words_of(const std::string& name) {
  std::string words = name.substr(0, name.size() - kHash.size());
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string text_of(const PtDict& settings, const std::string& name) {
  for (const auto& [key, value] : settings) {
    if (key == name) return std::visit(AsText(), value.value);
  }
  return "unknown";
}

}  // namespace

std::string settings_text(const PtDict& settings) {
  std::string text;
  for (const auto& [name, value] : settings) {
    text +=
        fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, std::visit(AsText(), value.value));
  }
  return text.empty() ? "none" : text;
}

void require_same_settings(const PtDict& saved, const PtDict& own, const std::string& what) {
  for (const PtDict* settings : {&own, &saved}) {
    for (const auto& [name, value] : *settings) {
      const std::string was = text_of(saved, name), is = text_of(own, name);
      if (was == is) continue;
      if (name.ends_with(kHash)) {
        fail(
            "{} belongs to a run with other {}: their SHA-256 begins with {}, and that of this run "
            "with {}",
            what, words_of(name), was.substr(0, kDigits), is.substr(0, kDigits));
      }
      fail("{} belongs to a run with {} = {}; this one has {}", what, name, was, is);
    }
  }
}

void require_format(int64_t saved, int64_t own, const std::string& what,
                    const std::string& instead) {
  if (saved == own) return;
  throw OtherFormat(
      fmt::format("{} has format {}, but this version of the program reads format {}; continue "
                  "with the version that wrote it, or {}",
                  what, saved, own, instead));
}

}  // namespace isinglass
