// JSON as text, whatever bytes its strings hold.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

namespace isinglass {

// Bytes that are no UTF-8, as those of a path or of somebody's message may be, become U+FFFD, so
// that nothing measured is lost by them. indent: spaces of a level; below 0: all in one line.
template <class Json>
std::enable_if_t<nlohmann::detail::is_basic_json<Json>::value, std::string> text_of(
    const Json& json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace isinglass
