// Implements files that are written in several runs.
#include "io/continued_file.h"

#include <unistd.h>

#include <utility>

#include "io/part_file.h"

namespace isinglass {

namespace fs = std::filesystem;

ContinuedFile::ContinuedFile(fs::path file) : file_(std::move(file)), part_(file_) {
  require_no_folder(file_);
  part_ += ".part";
  descriptor_ = open_part(file_, part_);
  size_ = lseek(descriptor_, 0, SEEK_END);
}

ContinuedFile::~ContinuedFile() {
  if (descriptor_ < 0) return;
  if (size_ == 0) unlink(part_.c_str());
  close(descriptor_);
}

void ContinuedFile::append(std::string_view bytes) {
  write_part(descriptor_, file_, bytes);
  size_ += static_cast<int64_t>(bytes.size());
}

void ContinuedFile::restart() {
  empty_part(descriptor_, file_);
  size_ = lseek(descriptor_, 0, SEEK_SET);
}

void ContinuedFile::commit() {
  name_part(descriptor_, part_, file_);
  close(descriptor_);
  descriptor_ = -1;
}

}  // namespace isinglass
