// Implements the downloads of data sets.
#include "train/data/fetch.h"

#include <fmt/ranges.h>

#include "io/download.h"
#include "io/error.h"
#include "io/files.h"
#include "io/git_blob_id.h"
#include "io/sha256.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWaysOut =
    "--mirror ADDRESS names a copy of a data folder to download from, a file that was downloaded "
    "by other means may be put in the same place, and the data set strokes is built in";

// The largest number of transfers from one address, if every one brings the file further.
constexpr int kTransfers = 10;

std::string without_gz(const std::string& name) {
  return name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name;
}

// Returns why the file is not the published one; nothing if it is.
std::string difference(const fs::path& file, const PublishedFile& published) {
  const bool git = published.checksum.size() == 40;
  try {
    const std::string found =
        git ? git_blob_id(read_file(file)) : sha256(read_maybe_gzip(file, kLargestDataFile));
    if (found == published.checksum) return "";
    return fmt::format("its {} is {}, and {} as published", git ? "Git id" : "SHA-256", found,
                       published.checksum);
  } catch (const Error& error) {  // a damaged gzip stream, for one
    return error.what();
  }
}

// One file that is being downloaded.
class Fetching {
 public:
  Fetching(fs::path file, const PublishedFile& published, int64_t timeout, const FetchWatch& watch)
      : file_(std::move(file)),
        published_(published),
        timeout_(timeout),
        watch_(watch),
        part_(file_) {}

  // Tries the addresses. Returns false if the watcher stopped the download.
  bool run(const std::vector<std::string>& addresses) {
    std::vector<std::string> reasons;
    for (const std::string& address : addresses) {
      const Ending ending = try_address(address);
      if (ending != Ending::kRefused) return ending == Ending::kDone;
      reasons.push_back(fmt::format("{}: {}", address, reason_));
    }
    fail("{} cannot be downloaded: {}{}; {}", file_.string(), fmt::join(reasons, "; "),
         part_.size() > 0 ? "; the part that arrived is kept, and the same command continues it"
                          : "",
         kWaysOut);
  }

 private:
  enum class Ending { kDone, kStopped, kRefused };

  Ending try_address(const std::string& address) {
    for (int transfer = 0; transfer < kTransfers; ++transfer) {
      const int64_t before = part_.size();
      const DownloadResult result =
          download(address, part_, timeout_, kLargestDataFile,
                   [&](int64_t bytes, int64_t total) { return watch_(file_, bytes, total); });
      if (result.end == DownloadEnd::kStopped) return Ending::kStopped;
      reason_ = result.reason;
      if (result.end == DownloadEnd::kNoResume) {
        part_.restart();
      } else if (result.end == DownloadEnd::kComplete) {
        reason_ = difference(part_.part(), published_);
        if (reason_.empty()) {
          part_.commit();
          return Ending::kDone;
        }
        reason_ = "it sends another file: " + reason_;
        part_.restart();
        // The beginning may have come from another file; what comes from one address may not.
        if (before == 0) return Ending::kRefused;
      } else if (part_.size() == before) {
        return Ending::kRefused;
      }
    }
    return Ending::kRefused;
  }

  const fs::path file_;
  const PublishedFile& published_;
  const int64_t timeout_;
  const FetchWatch& watch_;
  ContinuedFile part_;
  std::string reason_;
};

}  // namespace

std::vector<std::string> addresses_of(const Publication& publication, const std::string& file,
                                      const std::string& mirror) {
  std::vector<std::string> all;
  if (!mirror.empty()) {
    const char* slash = mirror.ends_with('/') ? "" : "/";
    all.push_back(fmt::format("{}{}{}/{}", mirror, slash, publication.folder, file));
  }
  for (const std::string& address : publication.addresses) all.push_back(address + file);
  if (!publication.addresses.empty()) {
    // The Internet Archive sends its copy that is nearest to this year, without a frame (id_).
    all.push_back("https://web.archive.org/web/2023id_/" + publication.addresses[0] + file);
  }
  return all;
}

DatasetFinding examine_dataset(const DatasetEntry& entry, const fs::path& data_dir) {
  try {
    const Dataset data = entry.read(data_dir);
    if (entry.labels) entry.labels(data_dir);
    return {DatasetState::kPresent, data.source};
  } catch (const MissingFile& error) {
    return {DatasetState::kMissing, error.what()};
  } catch (const Error& error) {
    return {DatasetState::kDamaged, error.what()};
  }
}

Fetched fetch_dataset(const DatasetEntry& entry, const FetchOptions& options,
                      const FetchWatch& watch) {
  const Publication& publication = *entry.publication;
  const fs::path folder = options.data_dir / publication.folder;
  std::vector<const PublishedFile*> missing;
  for (const PublishedFile& published : publication.files) {
    const auto file = find_data_file(folder, without_gz(published.name));
    if (!file) {
      missing.push_back(&published);
      continue;
    }
    const std::string wrong = difference(*file, published);
    require(wrong.empty(),
            "{} is not the published file of {}: {}; move it away, and fetch the set again",
            file->string(), entry.name, wrong);
  }
  Fetched fetched;
  if (missing.empty() || examine_dataset(entry, options.data_dir).state == DatasetState::kPresent) {
    return fetched;
  }
  std::error_code error;
  fs::create_directories(folder, error);
  require(!error, "cannot make the folder {}: {}", folder.string(), error.message());
  for (const PublishedFile* published : missing) {
    const fs::path file = folder / published->name;
    Fetching fetching(file, *published, options.timeout, watch);
    if (!fetching.run(addresses_of(publication, published->name, options.mirror))) {
      fetched.stopped = true;
      return fetched;
    }
    fetched.downloaded.push_back(file);
  }
  return fetched;
}

}  // namespace isinglass
