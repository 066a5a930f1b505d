// The central directory of a zip archive (PKWARE APPNOTE 6.3, §4.3.12–4.3.16), a .pt or .npz file:
// what the archive promises about every record, checked before a record is read.
//
// PyTorchStreamReader neither verifies checksums nor exposes them, and allocates whatever size a
// record claims; this directory supplies both. Accepted are records whose bytes in the file fit
// into it together, each name once, no comment; those that are stored, not compressed, have no
// other size.
#pragma once

#include <caffe2/serialize/read_adapter_interface.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace isinglass {

struct ZipEntry {
  uint64_t size;    // bytes
  uint32_t crc32;   // of those bytes
  uint64_t packed;  // bytes in the file
  uint64_t offset;  // of the record's own header
  uint16_t method;  // 0: stored, 8: deflated
};

struct ZipDirectory {
  std::string folder;                                    // that every record lies in
  bool compressed = false;                               // any record is
  std::map<std::string, ZipEntry, std::less<>> entries;  // by full name, folder included
};

// Throws Error whose sentence lacks its subject (the file's name), as pickle_reader.h's does.
ZipDirectory read_zip_directory(const caffe2::serialize::ReadAdapterInterface& archive);

// The bytes at `pos`, fewer at the end (LibTorch's own adapters trust the position).
class MemorySource final : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}
  size_t size() const override { return bytes_.size(); }
  size_t read(uint64_t pos, void* out, size_t count, const char* = "") const override {
    return pos < bytes_.size() ? bytes_.copy(static_cast<char*>(out), count, pos) : 0;
  }

 private:
  std::string_view bytes_;
};

// The bytes of one record of an archive in memory, inflated where it is deflated; at most `limit`.
// Throws Error, without its subject, if it is larger, damaged, packed otherwise or has another
// checksum.
std::string zip_record(std::string_view archive, const ZipEntry& entry, uint64_t limit);

}  // namespace isinglass
