// Data sets as their authors publish them: files, addresses, checksums and terms of use, from which
// `isinglass data` downloads and checks them.
#pragma once

#include <string>
#include <vector>

namespace isinglass {

struct PublishedFile {
  std::string name;  // as published; readers also accept it decompressed or compressed (.gz)
  // 64 digits: the SHA-256 of the decompressed content, which does not depend on how a mirror
  // compressed it. 40 digits: the file's id in its authors' Git repository (io/git_blob_id.h).
  std::string checksum;
};

// The addresses are folders that contain the files under these names, each ending in a slash. They
// are tried in order. Option `mirror` names one that is tried before them.
struct Publication {
  std::string folder;  // in the data folder
  std::vector<PublishedFile> files;
  std::vector<std::string> addresses;
  std::string terms;  // licence, and what its authors ask users to cite
};

}  // namespace isinglass
