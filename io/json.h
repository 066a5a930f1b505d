// Formats JSON as text, whatever bytes its strings hold.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

namespace isinglass {

// Returns the text of a JSON value. Bytes that are not UTF-8, which paths or user messages may
// contain, become U+FFFD, so that a result is never lost because of them. indent: spaces per level;
// below 0, everything is on one line.
template <class Json>
std::enable_if_t<nlohmann::detail::is_basic_json<Json>::value, std::string> text_of(
    const Json& json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace isinglass
