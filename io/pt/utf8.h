// Checks text as Python's pickle holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace isinglass {

// Returns true if Python accepts the text as UTF-8 (RFC 3629): it has no stray or missing
// continuation bytes, no overlong forms and no surrogates.
inline bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    const int more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || text.size() - i <= size_t(more))
      return false;
    uint32_t code = lead & (more == 0 ? 0x7f : 0x3f >> more);
    for (int k = 1; k <= more; ++k) {
      const auto next = static_cast<uint8_t>(text[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      code = code << 6 | (next & 0x3f);
    }
    const uint32_t smallest = more == 3 ? 0x10000 : more == 2 ? 0x800 : 0;
    if (code < smallest || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    i += more + 1;
  }
  return true;
}

}  // namespace isinglass
