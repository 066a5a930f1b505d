// Implements the temporary files by calls of the system.
#include "io/part_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "io/error.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

bool same_file(int descriptor, const fs::path& path) {
  struct stat opened, named;
  return fstat(descriptor, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Flushes a directory, with which the rename reaches the disk. Not every file system can do this.
void flush_folder(const fs::path& folder) {
  const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

}  // namespace

int open_part(const fs::path& file, const fs::path& part) {
  for (;;) {
    const int descriptor = open(part.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    require(descriptor >= 0, "cannot write {}: {}", file.string(), system_reason());
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(descriptor);
      fail("cannot write {}: another process is writing it", file.string());
    }
    // Another process may have renamed the part between the open and the lock.
    if (same_file(descriptor, part)) return descriptor;
    close(descriptor);
  }
}

void require_no_folder(const fs::path& file) {
  std::error_code ignored;  // a path that cannot be examined cannot be opened either
  require(file.has_filename() && !fs::is_directory(file, ignored),
          "cannot write {}: it is a directory, not a file", file.string());
}

void write_part(int descriptor, const fs::path& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    require(written >= 0, "cannot write {}: {}", file.string(), system_reason());
    bytes.remove_prefix(written);
  }
}

void empty_part(int descriptor, const fs::path& file) {
  require(ftruncate(descriptor, 0) == 0, "cannot write {}: {}", file.string(), system_reason());
}

void name_part(int descriptor, const fs::path& part, const fs::path& file) {
  require(fsync(descriptor) == 0 && rename(part.c_str(), file.c_str()) == 0, "cannot write {}: {}",
          file.string(), system_reason());
  flush_folder(file.parent_path());
}

}  // namespace isinglass
