#include "io/pt/zip_directory.h"

#include <bit>
#include <cstring>
#include <string_view>

#include "io/error.h"

namespace isinglass {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kEndSignature = 0x06054b50, kEnd64Signature = 0x06064b50,
                   kLocator64Signature = 0x07064b50, kEntrySignature = 0x02014b50;
constexpr uint64_t kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20, kEntryBytes = 46;
constexpr uint32_t kSee64 = 0xffffffff;  // the value stands in the zip64 extra field

[[noreturn]] void damaged() {
  fail("is a truncated or damaged zip archive");
}

// The little-endian number at `offset`; a number outside the bytes means a damaged archive.
template <class T>
T number(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) damaged();
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::string read_bytes(const caffe2::serialize::ReadAdapterInterface& archive, uint64_t offset,
                       uint64_t size) {
  if (offset > archive.size() || size > archive.size() - offset) damaged();
  std::string bytes(size, '\0');
  if (archive.read(offset, bytes.data(), size) != size) damaged();
  return bytes;
}

// The bytes of all directory entries.
std::string read_entries(const caffe2::serialize::ReadAdapterInterface& archive) {
  const uint64_t size = archive.size();
  if (size < kEndBytes) damaged();
  const std::string end = read_bytes(archive, size - kEndBytes, kEndBytes);
  if (number<uint32_t>(end, 0) != kEndSignature || number<uint16_t>(end, 20) != 0) damaged();
  if (size >= kEndBytes + kLocator64Bytes) {
    const std::string locator =
        read_bytes(archive, size - kEndBytes - kLocator64Bytes, kLocator64Bytes);
    if (number<uint32_t>(locator, 0) == kLocator64Signature) {
      const std::string end64 = read_bytes(archive, number<uint64_t>(locator, 8), kEnd64Bytes);
      if (number<uint32_t>(end64, 0) != kEnd64Signature) damaged();
      return read_bytes(archive, number<uint64_t>(end64, 48), number<uint64_t>(end64, 40));
    }
  }
  return read_bytes(archive, number<uint32_t>(end, 16), number<uint32_t>(end, 12));
}

// The zip64 extra field begins with the uncompressed size, where that did not fit in 32 bits.
uint64_t size64(std::string_view extra) {
  for (uint64_t at = 0; at < extra.size();) {
    const auto id = number<uint16_t>(extra, at), length = number<uint16_t>(extra, at + 2);
    if (id == 1) return number<uint64_t>(extra, at + 4);
    at += 4 + length;
  }
  damaged();
}

}  // namespace

ZipDirectory read_zip_directory(const caffe2::serialize::ReadAdapterInterface& archive) {
  const std::string bytes = read_entries(archive);
  ZipDirectory directory;
  uint64_t total = 0;
  for (std::string_view rest = bytes; !rest.empty();) {
    if (number<uint32_t>(rest, 0) != kEntrySignature) damaged();
    const auto name_bytes = number<uint16_t>(rest, 28), extra_bytes = number<uint16_t>(rest, 30);
    const uint64_t length = kEntryBytes + name_bytes + extra_bytes + number<uint16_t>(rest, 32);
    if (length > rest.size()) damaged();
    const std::string name(rest.substr(kEntryBytes, name_bytes));
    directory.compressed |= number<uint16_t>(rest, 10) != 0;

    ZipEntry entry{number<uint32_t>(rest, 24), number<uint32_t>(rest, 16)};
    if (entry.size == kSee64)
      entry.size = size64(rest.substr(kEntryBytes + name_bytes, extra_bytes));
    if (entry.size > archive.size() - total) damaged();
    total += entry.size;

    if (directory.entries.empty()) directory.folder = name.substr(0, name.find('/') + 1);
    if (!directory.entries.emplace(name, entry).second) damaged();
    rest.remove_prefix(length);
  }
  return directory;
}

}  // namespace isinglass
