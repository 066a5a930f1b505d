// See output_directory.h.
#include "cli/output_directory.h"

#include <array>

#include "cli/commands.h"
#include "io/error.h"
#include "io/files.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

// All that a run writes into its directory. Nothing else in there is ever removed.
constexpr std::array kRunEntries = {
    "config.toml", "summary.json", "bench.json", "samples.pt",        "samples.nc",  "learned.pt",
    "draws.tmp",   "ais.json",     "chains.pt",  "ais-checkpoint.pt", "weights.pt",  "ema.pt",
    "best.pt",     "log.txt",      "data.png",   "metrics.jsonl",     "checkpoints", "samples",
    "cells",       "results.json", "results.csv"};

void remove_run(const fs::path& directory) {
  std::error_code ignored;
  for (const char* entry : kRunEntries) fs::remove_all(directory / entry, ignored);
}

bool holds_run(const fs::path& directory) {
  std::error_code ignored;
  for (const char* entry : kRunEntries) {
    if (fs::exists(directory / entry, ignored)) return true;
  }
  return false;
}

}  // namespace

OutputDirectory::OutputDirectory(const Options& options)
    : resumed_(options.has("resume")), keep_(resumed_) {
  directory_ = fs::absolute(options.path(resumed_ ? "resume" : "out")).lexically_normal();
  if (!directory_.has_filename()) directory_ = directory_.parent_path();
  if (resumed_) return;
  std::error_code error;
  const fs::file_status status = fs::status(directory_, error);
  require(!fs::exists(status) || fs::is_directory(status), "--out {} is a file, not a directory",
          directory_.string());
  require(options.flag("overwrite") || !holds_run(directory_),
          "--out {} already holds a run; give another directory, or --overwrite",
          directory_.string());
}

void OutputDirectory::create() {
  std::error_code error;
  for (fs::path p = directory_; !fs::exists(p, error) && p.has_relative_path();
       p = p.parent_path()) {
    ++made_;
  }
  fs::create_directories(directory_, error);
  require(!error, "--out {}: the directory cannot be made: {}", directory_.string(),
          error.message());
  remove_run(directory_);
}

// Directories go only when they are empty: somebody else may have put a run beside this one.
void OutputDirectory::discard() const {
  remove_run(directory_);
  std::error_code ignored;
  fs::path directory = directory_;
  for (int level = 0; level < made_; ++level, directory = directory.parent_path()) {
    fs::remove(directory, ignored);
  }
}

void OutputDirectory::fill(const Options& options, const std::function<void()>& work) {
  try {
    if (!resumed_) create();
    write_file(file("config.toml"), options.to_toml());
    work();
  } catch (const NumericalError&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (...) {
    if (!keep_) discard();
    throw;
  }
}

fs::path newest_checkpoint(const fs::path& directory) {
  fs::path newest;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(directory / "checkpoints", missing)) {
    if (entry.path().extension() == ".pt" && entry.path().filename() > newest.filename()) {
      newest = entry.path();
    }
  }
  return newest;
}

}  // namespace isinglass
