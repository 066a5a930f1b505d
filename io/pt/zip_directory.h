// Reads the central directory of a zip archive (PKWARE APPNOTE 6.3, §4.3.12–4.3.16), which is a .pt
// or .npz file: the size, position and checksum of every record, checked before a record is read.
//
// PyTorchStreamReader neither verifies checksums nor exposes them, and it allocates whatever size a
// record claims; this directory provides both. Archives are accepted if their records fit into the
// file together, no name occurs twice and there is no comment. Stored (uncompressed) records have
// to have equal sizes before and after packing.
#pragma once

#include <caffe2/serialize/read_adapter_interface.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace isinglass {

struct ZipEntry {
  uint64_t size;    // bytes, decompressed
  uint32_t crc32;   // checksum of the decompressed bytes
  uint64_t packed;  // bytes in the file, compressed or not
  uint64_t offset;  // position of the record's own header
  uint16_t method;  // 0: stored, 8: deflated
};

struct ZipDirectory {
  std::string folder;                                    // the folder of all records
  bool compressed = false;                               // true if any record is
  std::map<std::string, ZipEntry, std::less<>> entries;  // by full name, folder included
};

// Returns the directory. Throws Error whose message lacks the subject (the file's name), like that
// of pickle_reader.h.
ZipDirectory read_zip_directory(const caffe2::serialize::ReadAdapterInterface& archive);

// Reads an archive in memory: the bytes at `pos`, fewer at the end. (LibTorch's own adapters do not
// check the position.)
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

// Returns the bytes of one record of an archive in memory, decompressed if it is deflated; at most
// `limit` bytes. Throws Error, whose message lacks the subject, if the record is larger, damaged,
// packed by another method or has another checksum.
std::string zip_record(std::string_view archive, const ZipEntry& entry, uint64_t limit);

}  // namespace isinglass
