// Files that are written in several runs of the program, for downloads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace isinglass {

// Bytes go to FILE.part in the same directory, which stays when the object is destroyed without a
// commit, and which the next object continues. commit() gives the file its name, as that of
// AtomicFile does (files.h). A part that another process is writing is an Error.
class ContinuedFile {
 public:
  // Throws Error naming the file and the system's reason. So do the other functions.
  explicit ContinuedFile(std::filesystem::path file);
  ~ContinuedFile();
  ContinuedFile(const ContinuedFile&) = delete;
  ContinuedFile& operator=(const ContinuedFile&) = delete;

  int64_t size() const { return size_; }  // of the part [bytes]
  void append(std::string_view bytes);
  void restart();  // empties the part
  void commit();
  const std::filesystem::path& part() const { return part_; }

 private:
  std::filesystem::path file_, part_;
  int descriptor_;
  int64_t size_;
};

}  // namespace isinglass
