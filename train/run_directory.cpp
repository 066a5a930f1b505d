// Implements the run directory of a training run.
#include "train/run_directory.h"

#include <fmt/chrono.h>

#include <algorithm>

#include "io/error.h"
#include "io/files.h"
#include "io/torch.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr size_t kKeptCheckpoints = 2;

std::string numbered(int64_t iteration, const char* extension) {
  return fmt::format("{:08}.{}", iteration, extension);
}

bool is_checkpoint(const fs::path& file) {
  const std::string stem = file.stem().string();
  return file.extension() == ".pt" && !stem.empty() && stem.size() <= 18 &&
         std::all_of(stem.begin(), stem.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void make_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  require(!error, "cannot make the directory {}: {}", path.string(), error.message());
}

}  // namespace

int64_t iteration_of(const fs::path& checkpoint) {
  return std::stoll(checkpoint.stem().string());
}

RunDirectory RunDirectory::create(const fs::path& path) {
  RunDirectory directory(path);
  require(directory.checkpoints().empty(),
          "{} holds a run already; resume it or choose another directory", path.string());
  make_directory(directory.file("checkpoints"));
  make_directory(directory.file("samples"));
  return directory;
}

RunDirectory RunDirectory::open(const fs::path& path) {
  RunDirectory directory(path);
  require(!directory.checkpoints().empty(), "{} has no checkpoints to resume from", path.string());
  return directory;
}

fs::path RunDirectory::checkpoint_file(int64_t iteration) const {
  return file("checkpoints") / numbered(iteration, "pt");
}

fs::path RunDirectory::samples_file(int64_t iteration) const {
  return file("samples") / numbered(iteration, "png");
}

std::vector<fs::path> RunDirectory::checkpoints() const {
  std::vector<fs::path> files;
  std::error_code error;  // a missing directory holds no checkpoints
  for (const auto& entry : fs::directory_iterator(file("checkpoints"), error)) {
    if (is_checkpoint(entry.path())) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end(),
            [](const fs::path& a, const fs::path& b) { return iteration_of(a) < iteration_of(b); });
  return files;
}

void RunDirectory::remove_old_checkpoints(int64_t spacing) const {
  const std::vector<fs::path> files = checkpoints();
  size_t latest = 0, multiples = 0;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const bool multiple = spacing > 0 && iteration_of(*file) % spacing == 0;
    const bool kept = latest++ < kKeptCheckpoints || (multiple && multiples < kKeptCheckpoints);
    if (multiple) ++multiples;
    if (!kept) fs::remove(*file);
  }
}

void RunDirectory::remove_checkpoints_after(int64_t iteration) const {
  const std::vector<fs::path> files = checkpoints();
  for (auto file = files.rbegin(); file != files.rend() && iteration_of(*file) > iteration; ++file)
    fs::remove(*file);
}

fs::path RunDirectory::recovery_point(int64_t iteration, int64_t spacing) const {
  const std::vector<fs::path> files = checkpoints();
  TORCH_INTERNAL_ASSERT(!files.empty());
  fs::path earlier = files.front();
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    if (iteration_of(*file) > iteration) continue;
    if (iteration_of(*file) % spacing == 0) return *file;
    if (earlier == files.front()) earlier = *file;
  }
  return earlier;
}

void RunDirectory::set_aside(const fs::path& checkpoint) const {
  fs::rename(checkpoint, checkpoint.string() + ".unreadable");
}

void RunDirectory::log(const std::string& message) const {
  append_line(file("log.txt"),
              fmt::format("{:%F %TZ} {}", fmt::gmtime(std::time(nullptr)), message));
}

}  // namespace isinglass
