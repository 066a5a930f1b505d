// Implements the parsing of the central directory with checks of every number.
#include "io/pt/zip_directory.h"

#include <zlib.h>

#include <algorithm>
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
constexpr uint32_t kSee64 = 0xffffffff;  // marks a value that is in the zip64 extra field

[[noreturn]] void damaged() {
  fail("is a truncated or damaged zip archive");
}

// Returns the little-endian number at `offset`. Throws Error for a damaged archive if it is not
// within the bytes.
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

// Returns the bytes of all directory entries.
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

// Reads the sizes and offsets that did not fit in 32 bits from the zip64 extra field, in this
// order.
void take_zip64(ZipEntry& entry, std::string_view extra) {
  const bool wanted = entry.size == kSee64 || entry.packed == kSee64 || entry.offset == kSee64;
  for (uint64_t at = 0; wanted;) {
    const auto id = number<uint16_t>(extra, at), length = number<uint16_t>(extra, at + 2);
    at += 4;
    if (id == 1) {
      for (uint64_t* value : {&entry.size, &entry.packed, &entry.offset}) {
        if (*value != kSee64) continue;
        *value = number<uint64_t>(extra, at);
        at += sizeof(uint64_t);
      }
      return;
    }
    at += length;
  }
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
    ZipEntry entry{.size = number<uint32_t>(rest, 24),
                   .crc32 = number<uint32_t>(rest, 16),
                   .packed = number<uint32_t>(rest, 20),
                   .offset = number<uint32_t>(rest, 42),
                   .method = number<uint16_t>(rest, 10)};
    take_zip64(entry, rest.substr(kEntryBytes + name_bytes, extra_bytes));
    const bool stored = entry.method == 0;
    directory.compressed |= !stored;
    if (entry.packed > archive.size() - total || (stored && entry.packed != entry.size)) damaged();
    total += entry.packed;

    if (directory.entries.empty()) directory.folder = name.substr(0, name.find('/') + 1);
    if (!directory.entries.emplace(name, entry).second) damaged();
    rest.remove_prefix(length);
  }
  return directory;
}

namespace {

// Decompresses a raw deflate stream. Throws Error unless the result has exactly `size` bytes.
std::string inflated(std::string_view packed, uint64_t size) {
  constexpr uint64_t kMostUnfolded = 1032;  // limit of the format for a byte
  if (size / kMostUnfolded > packed.size()) damaged();
  std::string bytes(size, '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) damaged();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  int status = Z_OK;
  // The stream is processed in parts whose sizes fit zlib's counters.
  for (uint64_t in = packed.size(), out = size; status == Z_OK;) {
    constexpr uint64_t kPart = uint64_t{1} << 30;
    const auto given = static_cast<uInt>(std::min(in, kPart));
    const auto room = static_cast<uInt>(std::min(out, kPart));
    stream.avail_in = given;
    stream.avail_out = room;
    status = inflate(&stream, Z_NO_FLUSH);
    in -= given - stream.avail_in;
    out -= room - stream.avail_out;
  }
  const bool whole = status == Z_STREAM_END && stream.total_out == size;
  inflateEnd(&stream);
  if (!whole) damaged();
  return bytes;
}

}  // namespace

std::string zip_record(std::string_view archive, const ZipEntry& entry, uint64_t limit) {
  constexpr uint32_t kRecordSignature = 0x04034b50;
  constexpr uint64_t kRecordBytes = 30;
  require(entry.size <= limit, "holds more than {} bytes, the most that can be read", limit);
  require(
      entry.method == 0 || entry.method == 8,
      "has records that are compressed by method {}; only stored and deflated records can be read",
      entry.method);
  if (number<uint32_t>(archive, entry.offset) != kRecordSignature) damaged();
  const uint64_t names = uint64_t{number<uint16_t>(archive, entry.offset + 26)} +
                         number<uint16_t>(archive, entry.offset + 28);
  const uint64_t begin = entry.offset + kRecordBytes + names;
  if (begin > archive.size() || entry.packed > archive.size() - begin) damaged();
  const std::string_view packed = archive.substr(begin, entry.packed);
  std::string bytes = entry.method == 0 ? std::string(packed) : inflated(packed, entry.size);
  const auto* data = reinterpret_cast<const Bytef*>(bytes.data());
  require(crc32_z(crc32_z(0, nullptr, 0), data, bytes.size()) == entry.crc32,
          "has a record with a wrong checksum");
  return bytes;
}

}  // namespace isinglass
