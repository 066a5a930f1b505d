// Implements the ids of files with Nettle's SHA-1.
#include "io/git_blob_id.h"

#include <fmt/ranges.h>
#include <nettle/sha1.h>

#include <array>
#include <cstdint>

namespace isinglass {

std::string git_blob_id(std::string_view bytes) {
  const std::string head = fmt::format("blob {}{}", bytes.size(), '\0');
  sha1_ctx context;
  sha1_init(&context);
  for (const std::string_view part : {std::string_view(head), bytes}) {
    sha1_update(&context, part.size(), reinterpret_cast<const uint8_t*>(part.data()));
  }
  std::array<uint8_t, SHA1_DIGEST_SIZE> digest;
  sha1_digest(&context, digest.size(), digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace isinglass
