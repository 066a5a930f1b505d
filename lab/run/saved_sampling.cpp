// Implements the files of a saved run of sampling.
#include "lab/run/saved_sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "io/error.h"
#include "io/pt/entries.h"
#include "io/unreadable.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr const char *kCheckpoint = "sample-checkpoint.pt", *kDraws = "draws";

// Returns the numbered files and the partial file that a killed process may have left.
std::vector<fs::path> draws_files(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(directory / kDraws, missing)) {
    const std::string name = entry.path().filename().string();
    const size_t digits = name.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string::npos) continue;
    if (name.substr(digits) == ".pt" || name.substr(digits) == ".pt.part")
      files.push_back(entry.path());
  }
  return files;
}

int64_t number_of(const fs::path& file) {
  return std::strtoll(file.filename().c_str(), nullptr, 10);
}

PtDict dict_of(const fs::path& file) {
  const PtValue value = read_pt(file);
  require(value.is_dict(), "{} does not hold a dictionary", file.string());
  return std::get<PtDict>(value.value);
}

// Returns the checkpoint. Throws Error that says what is left if it is damaged.
PtDict checkpoint_of(const fs::path& directory) {
  try {
    return dict_of(directory / kCheckpoint);
  } catch (const Unreadable&) {
    throw;  // the file itself may be sound
  } catch (const Error& error) {
    const auto files = draws_files(directory);
    const bool some = std::any_of(files.begin(), files.end(),
                                  [](const fs::path& file) { return file.extension() == ".pt"; });
    const std::string draws =
        some ? fmt::format("the draws so far are in {}, files that torch.load reads, and ",
                           (directory / kDraws).string())
             : "";
    fail(
        "{}; without it the run cannot continue: {}the same command with --out {} --overwrite "
        "starts it over",
        error.what(), draws, directory.string());
  }
}

}  // namespace

SavedSampling::SavedSampling(Sampling& sampling, Recorder& recorder, StepRecorder* moves,
                             fs::path directory, double seconds, const Ranks& ranks,
                             std::function<void(const RunProgress&)> on_saved)
    : sampling_(sampling),
      recorder_(recorder),
      moves_(moves),
      directory_(std::move(directory)),
      seconds_(seconds),
      ranks_(ranks),
      on_saved_(std::move(on_saved)) {}

bool SavedSampling::exists(const fs::path& directory) {
  return fs::exists(directory / kCheckpoint);
}

fs::path SavedSampling::draws_file(int64_t draws) const {
  return directory_ / kDraws / fmt::format("{:08}.pt", draws);
}

void SavedSampling::restore() {
  const fs::path checkpoint = directory_ / kCheckpoint;
  const PtDict saved = checkpoint_of(directory_);
  const PtEntries entries(saved, checkpoint.string());
  sampling_.restore(entries.dict("run"));
  if (moves_) {
    moves_->restore_sums(entries.dict("moves"), sampling_.own_chains(), sampling_.device());
  }
  if (const auto* correction = entries.find<torch::Tensor>("correction")) {
    const Shard own = sampling_.own_chains();
    require(correction->dim() == 1 && correction->size(0) >= own.first + own.count,
            "{} belongs to other chains", checkpoint.string());
    recorder_.restore_correction(own.of(*correction).to(sampling_.device()));
  }
  draws_ = entries.integer("draws");
  if (!ranks_.is_rank0()) {
    recorder_.restore(draws_, {}, checkpoint.string());
    if (moves_ && draws_ > 0) moves_->restore_draws(draws_, {}, checkpoint.string());
    return;
  }
  std::vector<fs::path> files = draws_files(directory_);
  std::sort(files.begin(), files.end(),
            [](const fs::path& a, const fs::path& b) { return number_of(a) < number_of(b); });
  for (const fs::path& file : files) {
    const int64_t number = number_of(file);
    if (number > draws_ || file.extension() != ".pt") {
      // Removes draws made after the checkpoint, and incomplete files.
      fs::remove(file);
      continue;
    }
    const PtDict block = dict_of(file);
    recorder_.restore(number, block, file.string());
    if (moves_) moves_->restore_draws(number, block, file.string());
  }
  require(recorder_.made() == draws_, "{} counts {} draws, but the files of {} hold {}",
          checkpoint.string(), draws_, (directory_ / kDraws).string(), recorder_.made());
}

bool SavedSampling::due() {
  return seconds_ > 0 && std::chrono::duration<double>(Clock::now() - saved_).count() > seconds_;
}

void SavedSampling::save(const RunProgress& progress) {
  PtDict dict;
  put(dict, "run", sampling_.saved(progress));
  put(dict, "draws", recorder_.made());
  if (moves_) put(dict, "moves", moves_->sums());
  const torch::Tensor correction = recorder_.saved_correction();
  if (correction.defined()) put(dict, "correction", correction);
  if (ranks_.is_rank0()) {
    if (recorder_.made() > draws_) {
      PtDict block = recorder_.saved(draws_);
      if (moves_) moves_->save_draws(draws_, block);
      fs::create_directories(directory_ / kDraws);
      write_pt(draws_file(recorder_.made()), PtValue{std::move(block)});
    }
    write_pt(directory_ / kCheckpoint, PtValue{std::move(dict)});
    if (on_saved_) on_saved_(progress);
  }
  draws_ = recorder_.made();
  saved_ = Clock::now();
}

void SavedSampling::remove() const {
  std::error_code ignored;
  fs::remove(directory_ / kCheckpoint, ignored);
  for (const fs::path& file : draws_files(directory_)) fs::remove(file, ignored);
  fs::remove(directory_ / kDraws, ignored);
}

}  // namespace isinglass
