// Implements the output directory of a run.
#include "cli/output_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/job.h"
#include "engine/ranks/process_group.h"
#include "io/error.h"
#include "io/files.h"
#include "lab/run/assemble.h"
#include "lab/spec/configuration.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfiguration = "config.toml";

// The files that the runs of a command write besides config.toml. A # stands for a number: the
// iteration or the cell. Files of earlier versions of the program have the same names.
struct RunFiles {
  std::string command;
  std::vector<std::string> names;
};

const std::array<RunFiles, 5> kRunFiles = {{
    {"sample",
     {"samples.pt", "samples.nc", "learned.pt", "rungs.pt", "best.pt", "draws.tmp", "draws/#.pt",
      "sample-checkpoint.pt", "summary.json", "inpainted.png"}},
    {"evaluate",
     {"ais.json", "chains.pt", "rungs.pt", "ais-checkpoint.pt", "conditional.json", "inpainted.pt",
      "inpainted.png"}},
    {"train",
     {"metrics.jsonl", "metrics.jsonl.damaged", "log.txt", "data.png", "weights.pt", "ema.pt",
      "best.pt", "checkpoints/#.pt", "checkpoints/#.pt.unreadable", "samples/#.png"}},
    {"ablate", {"cells/#.json", "runs/#", "results.json", "results.csv"}},
    {"bench", {"bench.json", "profile.json"}},
}};

// Returns these names, and the page that `report` makes of every run.
std::vector<std::string> names_of(const std::string& command) {
  std::vector<std::string> names = {"report.html"};
  for (const RunFiles& run : kRunFiles) {
    if (run.command == command) names.insert(names.end(), run.names.begin(), run.names.end());
  }
  return names;
}

// Returns the command whose run the directory holds, or nothing if it holds no run.
std::optional<std::string> held_command(const fs::path& directory) {
  const std::string command = command_of_run(directory);
  for (const RunFiles& run : kRunFiles) {
    if (command == run.command) return command;
  }
  return std::nullopt;
}

// Returns the top-level entries of a directory that holds these files: config.toml, samples,
// log.txt, ….
std::vector<std::string> entries_of(const std::vector<std::string>& names) {
  std::vector<std::string> entries = {kConfiguration};
  for (const std::string& name : names) {
    const std::string entry = fs::path(name).begin()->string();
    if (std::find(entries.begin(), entries.end(), entry) == entries.end()) entries.push_back(entry);
  }
  return entries;
}

// Returns true if the file matches a pattern with a number: "00000300.pt" matches "#.pt".
bool is_numbered(const std::string& file, const std::string& pattern) {
  const size_t digits = file.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string::npos && file.substr(digits) == pattern.substr(1);
}

// Returns the files of this name, the last part of which may be numbered, and the .part files that
// a killed process left (io/files.h).
std::vector<fs::path> files_named(const fs::path& directory, const std::string& name) {
  const fs::path path = directory / name;
  const std::string pattern = path.filename().string();
  if (!pattern.starts_with('#')) return {path, path.string() + ".part"};
  std::vector<fs::path> files;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(path.parent_path(), missing)) {
    const std::string file = entry.path().filename().string();
    if (is_numbered(file, pattern) || is_numbered(file, pattern + ".part")) {
      files.push_back(entry.path());
    }
  }
  return files;
}

std::optional<fs::path> remove_run(const fs::path& directory, const std::string& command);

// Removes the training runs in numbered subfolders, which are the training cells of a grid.
std::optional<fs::path> remove_cells(const fs::path& folder) {
  std::optional<fs::path> left;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    fs::remove(entry.path() / "cell.json", error);
    const std::optional<fs::path> kept = remove_run(entry.path(), "train");
    if (!left) left = kept;
    fs::remove(entry.path(), error);
  }
  return left;
}

// Removes the files of a run, then its folders if they are empty, and config.toml last: as long as
// something of the run remains, the directory is still recognised as a run. Returns the first path
// that could not be removed.
std::optional<fs::path> remove_run(const fs::path& directory, const std::string& command) {
  std::optional<fs::path> left;
  const std::vector<std::string> names = names_of(command);
  for (const std::string& name : names) {
    std::error_code error;
    if (name.ends_with("/#") && !left) left = remove_cells((directory / name).parent_path());
    for (const fs::path& file : files_named(directory, name)) {
      if (fs::is_directory(fs::symlink_status(file, error))) continue;
      fs::remove(file, error);
      if (error && !left) left = file;
    }
    const fs::path folder = (directory / name).parent_path();
    if (folder != directory) fs::remove(folder, error);
  }
  if (left) return left;
  std::error_code error;
  for (const fs::path& file : files_named(directory, kConfiguration)) fs::remove(file, error);
  return error ? std::optional(directory / kConfiguration) : std::nullopt;
}

// Removes the .part files that a killed process left of a run, which nobody else writes now.
void remove_parts(const fs::path& directory, const std::string& command) {
  std::vector<std::string> names = names_of(command);
  names.emplace_back(kConfiguration);
  std::error_code ignored;
  for (const std::string& name : names) {
    for (const fs::path& file : files_named(directory, name)) {
      if (file.extension() == ".part") fs::remove(file, ignored);
    }
  }
}

// Throws Error if an entry of the directory belongs to no run and has a name that `command` writes.
void require_no_others(const fs::path& directory, const std::string& command,
                       const std::optional<std::string>& held) {
  std::vector<std::string> own;
  if (held) own = entries_of(names_of(*held));
  for (const std::string& entry : entries_of(names_of(command))) {
    std::error_code error;
    const bool there = fs::exists(fs::symlink_status(directory / entry, error));
    require(!there || std::find(own.begin(), own.end(), entry) != own.end(),
            "--out {} already holds {}, which does not belong to a run of this program, and "
            "--overwrite removes only runs; give another directory",
            directory.string(), entry);
  }
}

// Returns the first of runs/sample-1, runs/sample-2, … that does not exist, for a run without
// --out.
fs::path unused_directory(const std::string& command) {
  require(!present_job(),
          "--out is required with several ranks, because a restarted job continues the run there");
  for (int64_t number = 1;; ++number) {
    const fs::path path = fs::path("runs") / fmt::format("{}-{}", command, number);
    std::error_code error;
    if (!fs::exists(fs::symlink_status(path, error))) return path;
  }
}

fs::path whole_path(const fs::path& said) {
  const fs::path path = fs::absolute(said).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

bool OutputDirectory::begun_before(const Options& options) {
  return present_job() && options.has("out") &&
         present_job()->noted_before(whole_path(options.path("out")).string());
}

OutputDirectory::OutputDirectory(const Options& options)
    : command_(options.command()),
      resumed_(options.has("resume")),
      run_(std::make_shared<Run>(
          command_.name, whole_path(resumed_             ? options.path("resume")
                                    : options.has("out") ? options.path("out")
                                                         : unused_directory(command_.name)))) {
  says_where_ = !resumed_ && !options.has("out") && !quiet(options);
  run_->keep = resumed_;
  if (resumed_ || !is_rank0()) return;
  std::error_code error;
  const fs::file_status status = fs::status(path(), error);
  require(!fs::exists(status) || fs::is_directory(status), "--out {} is a file, not a directory",
          path().string());
  const std::optional<std::string> held = held_command(path());
  held_run_ = held.has_value();
  const bool own = begun_before(options);
  resumed_ = own && held && find_option(command_.options, "resume");
  run_->keep = resumed_;
  require(options.flag("overwrite") || !held || own,
          "--out {} already holds a run; give another directory, or --overwrite", path().string());
  require_no_others(path(), command_.name, held);
}

void OutputDirectory::lock() {
  if (lock_.take(path())) return;
  run_->keep = true;  // the files there belong to another run
  fail("another process is writing a run to {}", path().string());
}

void OutputDirectory::create() {
  std::error_code error;
  for (fs::path p = path(); !fs::exists(p, error) && p.has_relative_path(); p = p.parent_path()) {
    ++run_->made;
  }
  fs::create_directories(path(), error);
  require(!error, "--out {} cannot be created: {}", path().string(), error.message());
  lock();
  if (const std::optional<std::string> held = held_command(path())) {
    // Another process has begun a run since this one looked.
    if (!held_run_) run_->keep = true;
    require(held_run_, "--out {} now holds the run of another process; give another directory",
            path().string());
    const std::optional<fs::path> left = remove_run(path(), *held);
    require(!left, "--out {} cannot be overwritten, because {} cannot be removed", path().string(),
            left.value_or("").string());
  }
  if (says_where_) fmt::print(stderr, "isinglass: this run is written to {}\n", path().string());
}

// Directories are removed only if they are empty, because another process may have put files there.
void OutputDirectory::Run::discard() const {
  if (keep) return;
  remove_run(directory, command);
  std::error_code ignored;
  fs::path emptied = directory;
  for (int level = 0; level < made; ++level, emptied = emptied.parent_path()) {
    fs::remove(emptied, ignored);
  }
}

void OutputDirectory::keep(const std::string& how) {
  run_->keep = true;
  kept_ = how;
}

void OutputDirectory::fill(const OptionValues& run, const std::function<void()>& work) {
  if (!is_rank0()) return work();
  try {
    resumed_ ? lock() : create();
    if (resumed_) remove_parts(path(), command_.name);
    if (Job* job = present_job()) {
      job->before_end([left = run_](int code) {
        if (code != kNumericalFailure) left->discard();
      });
    }
    write_file(file(kConfiguration), configuration_text(command_.options, command_.name, run));
    if (Job* job = present_job()) job->note(path().string());
    work();
    run_->keep = true;
  } catch (const NumericalError&) {
    run_->keep = true;
    throw;
  } catch (const Interrupted&) {
    run_->keep = true;
    throw;
  } catch (const RankLost&) {
    throw;  // the job is about to end this process
  } catch (...) {
    run_->discard();
    if (kept_.empty()) throw;
    const Failure failure = failure_of(std::current_exception());
    throw Failed(failure.code, fmt::format("{}; {}", failure.message, kept_));
  }
}

}  // namespace isinglass
