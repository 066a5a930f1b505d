// Files written whole or not at all, and read with one clear error.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace isinglass {

// A file that appears whole or not at all: bytes go to FILE.part beside it; commit() flushes them
// to the disk (fsync) and renames. Without a commit the destructor removes the part. A part that a
// killed process left behind is overwritten; one that another process is writing is an Error.
class AtomicFile {
 public:
  // Throws Error naming the file and the system's reason, as write() and commit() do.
  explicit AtomicFile(std::filesystem::path file);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void commit();
  // The part, for a library that opens its files itself.
  const std::filesystem::path& part() const { return part_; }

 private:
  std::filesystem::path file_, part_;
  int descriptor_;
};

// Removes the parts of all files that this process is writing; for a signal handler that ends the
// program at once: it calls what is safe there only.
void remove_unfinished_files() noexcept;

// What a process alone may do in a folder as long as it lives.
class FolderLock {
 public:
  // Whether the folder is this one's; another process may have it, and it may be asked for again. A
  // file system without locks has it for everyone.
  bool take(const std::filesystem::path& folder);
  FolderLock() = default;
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

// Writes to a temporary file beside it, flushes (fsync) and renames. Throws Error naming the file
// and the system's reason (disk full, no permission, …); the temporary file is removed then.
void write_file(const std::filesystem::path& file, std::string_view bytes);

// Adds a line and its end, handed to the system at once; makes the file if there is none. Throws
// Error naming the file and the system's reason.
void append_line(const std::filesystem::path& file, const std::string& line);

// The whole file. Throws Error if it is missing, a directory or unreadable.
std::string read_file(const std::filesystem::path& file);

// The same, gunzipped where the content starts with gzip's magic. `limit` bounds the size in bytes
// of what is returned (a larger one is an Error, as is a truncated or corrupt stream).
std::string read_maybe_gzip(const std::filesystem::path& file, size_t limit);

}  // namespace isinglass
