// Implements atomic writing, the list of unfinished files, and reading with decompression.
#include "io/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <system_error>

#include "io/error.h"
#include "io/part_file.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

// Lists the parts that are being written, in memory that a signal handler can read. Files beyond
// the last slot, and names too long for a slot, are not listed: their parts stay behind like those
// of a killed process.
struct UnfinishedFile {
  std::atomic<bool> taken = false, named = false;
  char path[4096];
};
UnfinishedFile unfinished[16];
static_assert(std::atomic<bool>::is_always_lock_free);

void note_unfinished(const fs::path& part) {
  const std::string& path = part.native();
  for (UnfinishedFile& slot : unfinished) {
    if (path.size() >= sizeof slot.path || slot.taken.exchange(true)) continue;
    std::copy_n(path.c_str(), path.size() + 1, slot.path);
    slot.named = true;
    return;
  }
}

void forget_unfinished(const fs::path& part) {
  for (UnfinishedFile& slot : unfinished) {
    if (!slot.named || part.native() != slot.path) continue;
    slot.named = false;
    slot.taken = false;
    return;
  }
}

// Decompresses a gzip file that is in memory.
class Inflater {
 public:
  Inflater(const fs::path& file, std::string_view compressed) : file_(file), rest_(compressed) {
    // The 16 selects gzip: a header is expected, and its checksum and length are verified at the
    // end.
    if (inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Returns the content of all members of the file (gzip files may be concatenated), at most
  // `limit` bytes.
  std::string run(size_t limit) {
    std::string out;
    for (;;) {
      const int status = inflate_some(out, limit);
      if (status == Z_STREAM_END) {
        if (rest_.empty()) return out;
        require(rest_.starts_with(kMagic), "{} has {} bytes after the end of its gzip stream",
                file_.string(), rest_.size());
        inflateReset(&stream_);
      } else if (status == Z_BUF_ERROR) {
        fail("{} is a truncated gzip file", file_.string());
      } else if (status != Z_OK) {
        fail("{} is a corrupt gzip file ({})", file_.string(),
             stream_.msg ? stream_.msg : "not a gzip stream");
      }
    }
  }

  static constexpr std::string_view kMagic = "\x1f\x8b";

 private:
  // Calls inflate once, which appends to `out`; it may return Z_OK with room or input left.
  int inflate_some(std::string& out, size_t limit) {
    constexpr size_t kChunk = size_t{1} << 20;
    const size_t before = out.size();
    out.resize(before + kChunk);
    const size_t given = std::min<size_t>(rest_.size(), std::numeric_limits<uInt>::max());
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
    stream_.avail_in = static_cast<uInt>(given);
    stream_.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream_.avail_out = kChunk;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    out.resize(before + kChunk - stream_.avail_out);
    rest_.remove_prefix(given - stream_.avail_in);
    require(out.size() <= limit, "{} holds more than {} bytes when decompressed", file_.string(),
            limit);
    return status;
  }

  const fs::path& file_;
  std::string_view rest_;
  z_stream stream_ = {};
};

}  // namespace

AtomicFile::AtomicFile(fs::path file) : file_(std::move(file)), part_(file_) {
  require_no_folder(file_);
  part_ += ".part";
  // The part is listed before it exists, because a signal may arrive in between. A part that
  // already exists may belong to another process, and is only listed once it is locked.
  const bool created = access(part_.c_str(), F_OK) != 0;
  if (created) note_unfinished(part_);
  try {
    descriptor_ = open_part(file_, part_);
    empty_part(descriptor_, file_);
  } catch (const Error&) {
    if (created) forget_unfinished(part_);
    throw;
  }
  if (!created) note_unfinished(part_);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  unlink(part_.c_str());
  forget_unfinished(part_);
  close(descriptor_);
}

void AtomicFile::write(std::string_view bytes) {
  write_part(descriptor_, file_, bytes);
}

void AtomicFile::commit() {
  name_part(descriptor_, part_, file_);
  forget_unfinished(part_);
  close(descriptor_);
  descriptor_ = -1;
}

bool FolderLock::take(const fs::path& folder) {
  if (descriptor_ < 0) descriptor_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return descriptor_ < 0 || flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

void remove_unfinished_files() noexcept {
  for (const UnfinishedFile& slot : unfinished) {
    if (slot.named) unlink(slot.path);
  }
}

void write_file(const fs::path& file, std::string_view bytes) {
  AtomicFile out(file);
  out.write(bytes);
  out.commit();
}

void append_line(const std::filesystem::path& file, const std::string& line) {
  std::ofstream out(file, std::ios::app);
  out << line << '\n' << std::flush;
  require(out.good(), "cannot write {}: {}", file.string(), std::strerror(errno));
}

std::string read_file(const fs::path& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  require(descriptor >= 0, "cannot read {}: {}", file.string(), system_reason());
  std::string bytes;
  struct stat status;
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) bytes.reserve(status.st_size + 1);
  ssize_t got;
  do {
    const size_t before = bytes.size();
    bytes.resize(std::max(bytes.capacity(), before + 65536));
    got = read(descriptor, bytes.data() + before, bytes.size() - before);
    bytes.resize(before + std::max<ssize_t>(got, 0));
  } while (got > 0 || (got < 0 && errno == EINTR));
  const std::string reason = system_reason();
  close(descriptor);
  require(got == 0, "cannot read {}: {}", file.string(), reason);
  return bytes;
}

std::string read_maybe_gzip(const fs::path& file, size_t limit) {
  std::string bytes = read_file(file);
  if (std::string_view(bytes).starts_with(Inflater::kMagic))
    return Inflater(file, bytes).run(limit);
  require(bytes.size() <= limit, "{} holds more than {} bytes", file.string(), limit);
  return bytes;
}

}  // namespace isinglass
