// Implements the reading of .pt files: checks of the archive and its records before LibTorch's
// reader sees them.
#include <caffe2/serialize/inline_container.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <optional>
#include <system_error>

#include "io/error.h"
#include "io/pt/pickle_reader.h"
#include "io/pt/pt_file.h"
#include "io/pt/zip_directory.h"
#include "io/unreadable.h"

namespace isinglass {
namespace {

using caffe2::serialize::PyTorchStreamReader;
using caffe2::serialize::ReadAdapterInterface;

class FileSource final : public ReadAdapterInterface {
 public:
  explicit FileSource(const std::filesystem::path& file)
      : descriptor_(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status;
    if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) throw unreadable(file, errno);
    if (!S_ISREG(status.st_mode)) {
      close(descriptor_);
      fail("cannot read {}: it is {}", file.string(),
           S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
    }
    size_ = status.st_size;
  }
  ~FileSource() override { close(descriptor_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  size_t size() const override { return size_; }

  size_t read(uint64_t pos, void* out, size_t count, const char* = "") const override {
    size_t done = 0;
    while (done < count) {
      const ssize_t got =
          pread(descriptor_, static_cast<char*>(out) + done, count - done, pos + done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) failure_ = errno;
      if (got <= 0) break;
      done += got;
    }
    return done;
  }

  static Unreadable unreadable(const std::filesystem::path& file, int reason) {
    return Unreadable(
        fmt::format("cannot read {}: {}", file.string(), std::generic_category().message(reason)));
  }
  int failure() const { return failure_; }  // errno of a failed read; 0 if none failed

 private:
  int descriptor_;
  size_t size_ = 0;
  mutable int failure_ = 0;
};

// Throws Error unless the first bytes are those of a zip archive; the message says what the file is
// instead.
void check_magic(const ReadAdapterInterface& source) {
  // Protocol 2, then a long: this is the magic number of torch.save before PyTorch 1.6.
  constexpr std::string_view kLegacy =
      "\x80\x02\x8a\nl\xfc\x9c"
      "F\xf9 j\xa8P\x19.";
  require(source.size() > 0, "is empty");
  std::array<char, kLegacy.size()> bytes = {};
  source.read(0, bytes.data(), bytes.size());
  const std::string_view start(bytes.data(), bytes.size());
  require(start != kLegacy,
          "is in the format of PyTorch before 1.6; load and save it once with a newer PyTorch");
  const std::string_view there = start.substr(0, source.size());
  const bool text = std::all_of(there.begin(), there.end(), [](unsigned char c) {
    return std::isprint(c) || std::isspace(c) || c >= 0x80;
  });
  require(!text,
          "is a text file, not a PyTorch file of tensors (a zip archive, as torch.save writes it)");
  require(start.starts_with("PK\3\4"), "is not a PyTorch file (a zip archive)");
}

class Archive {
 public:
  explicit Archive(const std::shared_ptr<ReadAdapterInterface>& source)
      : directory_(read_zip_directory(*source)) {
    require(!has("constants.pkl"), "is a TorchScript program; save its state_dict() instead");
    // A compressed record could expand a thousandfold inside the reader.
    require(!directory_.compressed, "has compressed records; torch.save stores them plain");
    require(has("data.pkl"), "is a zip archive but not a PyTorch file (it has no data.pkl)");
    try {
      reader_.emplace(source);
    } catch (const std::exception&) {  // LibTorch's own errors, and those of std::stoull
      fail("is a zip archive that LibTorch cannot open");
    }
  }

  bool has(const std::string& name) const {
    return directory_.entries.contains(directory_.folder + name);
  }

  // Returns the bytes of one record, with verified size and checksum.
  c10::Storage record(const std::string& name) {
    const auto promised = directory_.entries.find(directory_.folder + name);
    require(promised != directory_.entries.end(), "has no record {}", name);
    auto [data, size] = read(name, promised->second.size);
    const auto* bytes = static_cast<const Bytef*>(data.get());
    require(crc32_z(crc32_z(0, nullptr, 0), bytes, size) == promised->second.crc32,
            "has a wrong checksum in {}", name);
    return c10::Storage(c10::Storage::use_byte_size_t(), size, std::move(data), nullptr, false);
  }

 private:
  std::tuple<at::DataPtr, size_t> read(const std::string& name, uint64_t promised) try {
    if (reader_->getRecordSize(name) == promised) return reader_->getRecord(name);
    fail("is a damaged zip archive");
  } catch (const c10::Error&) {
    fail("is a truncated or damaged zip archive");
  }

  ZipDirectory directory_;
  std::optional<PyTorchStreamReader> reader_;
};

std::string_view text(const c10::Storage& record) {
  return {static_cast<const char*>(record.data()), record.nbytes()};
}

PtValue read_archive(const std::shared_ptr<ReadAdapterInterface>& source,
                     const std::string& name) try {
  check_magic(*source);
  Archive archive(source);
  require(!archive.has("byteorder") || text(archive.record("byteorder")) == "little",
          "was written on a big-endian machine");
  const c10::Storage program = archive.record("data.pkl");
  return pickle::read(text(program),
                      [&](const std::string& key) { return archive.record("data/" + key); });
} catch (const Error& error) {
  fail("{} {}", name, error.what());
}

}  // namespace

PtValue read_pt(const std::filesystem::path& file) {
  const auto source = std::make_shared<FileSource>(file);
  try {
    return read_archive(source, file.string());
  } catch (const Error&) {
    if (source->failure() != 0) throw FileSource::unreadable(file, source->failure());
    throw;
  }
}

PtValue read_pt_bytes(std::string_view bytes, const std::string& name) {
  return read_archive(std::make_shared<MemorySource>(bytes), name);
}

NamedTensors named_tensors(const PtValue& value, const std::string& name) {
  require(value.is_dict(), "{} does not hold a dictionary of tensors", name);
  NamedTensors tensors;
  for (const auto& [key, entry] : std::get<PtDict>(value.value)) {
    require(entry.is_tensor(), "{} holds {}, which is not a tensor, in its dictionary of tensors",
            name, key);
    tensors.emplace_back(key, std::get<torch::Tensor>(entry.value));
  }
  return tensors;
}

NamedTensors read_named_tensors(const std::filesystem::path& file) {
  return named_tensors(read_pt(file), file.string());
}

torch::Tensor read_tensor(const std::filesystem::path& file) {
  const PtValue content = read_pt(file);
  require(content.is_tensor(), "{} does not hold a single tensor", file.string());
  return std::get<torch::Tensor>(content.value);
}

}  // namespace isinglass
