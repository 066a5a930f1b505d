// Writes files atomically, and reads files with one clear error.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace isinglass {

// Writes a file atomically: it appears whole or not at all. Bytes go to FILE.part in the same
// directory; commit() flushes them to the disk (fsync) and renames. Without a commit the destructor
// removes the part. A part that a killed process left behind is overwritten; a part that another
// process is writing is an Error.
class AtomicFile {
 public:
  // Throws Error naming the file and the system's reason. So do write() and commit().
  explicit AtomicFile(std::filesystem::path file);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void commit();
  // Returns the part, for libraries that open files themselves.
  const std::filesystem::path& part() const { return part_; }

 private:
  std::filesystem::path file_, part_;
  int descriptor_;
};

// Removes the parts of all files that this process is writing. It only calls async-signal-safe
// functions, for a signal handler that ends the program at once.
void remove_unfinished_files() noexcept;

// Gives this process the exclusive use of a directory for the lifetime of the object.
class FolderLock {
 public:
  // Returns true if this object holds the directory; false if another process holds it. It may be
  // called again. It also returns true if the file system has no locks or the directory cannot be
  // opened.
  bool take(const std::filesystem::path& folder);
  FolderLock() = default;
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

// Writes a file atomically, as AtomicFile does. Throws Error naming the file and the system's
// reason (disk full, no permission, …); the temporary file is then removed.
void write_file(const std::filesystem::path& file, std::string_view bytes);

// Appends a line and its newline, and passes it to the system at once. Creates the file if there is
// none. Throws Error naming the file and the system's reason.
void append_line(const std::filesystem::path& file, const std::string& line);

// Returns the whole file. Throws Error if it is missing, a directory or unreadable.
std::string read_file(const std::filesystem::path& file);

// Returns the whole file, decompressed if the content starts with gzip's magic number. `limit`
// bounds the size of the result in bytes; a larger result is an Error, as is a truncated or corrupt
// stream.
std::string read_maybe_gzip(const std::filesystem::path& file, size_t limit);

}  // namespace isinglass
