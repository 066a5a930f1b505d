// The central directory of a .pt file's zip archive (PKWARE APPNOTE 6.3, §4.3.12–4.3.16): what the
// archive promises about every record, checked before a record is read.
//
// PyTorchStreamReader neither verifies checksums nor exposes them, and allocates whatever size a
// record claims; this directory supplies both. Only archives as torch.save writes them are
// accepted: stored (not compressed) records whose sizes fit in the file together, each name once,
// no comment.
#pragma once

#include <caffe2/serialize/read_adapter_interface.h>

#include <cstdint>
#include <map>
#include <string>

namespace isinglass {

struct ZipEntry {
  uint64_t size;   // bytes
  uint32_t crc32;  // of those bytes
};

struct ZipDirectory {
  std::string folder;                                    // that every record lies in
  bool compressed = false;                               // any record is
  std::map<std::string, ZipEntry, std::less<>> entries;  // by full name, folder included
};

// Throws Error whose sentence lacks its subject (the file's name), as pickle_reader.h's does.
ZipDirectory read_zip_directory(const caffe2::serialize::ReadAdapterInterface& archive);

}  // namespace isinglass
