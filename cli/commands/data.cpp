// isinglass data: lists the data sets that can be used by name, and downloads published ones into
// the data folder.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands/commands.h"
#include "cli/job.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "io/error.h"
#include "io/json.h"
#include "lab/run/assemble.h"
#include "lab/spec/tables.h"
#include "models/near_name.h"
#include "models/registry.h"
#include "train/data/fetch.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string state_text(const DatasetEntry& entry, const DatasetFinding& finding) {
  if (entry.built_in) return "built in";
  switch (finding.state) {
    case DatasetState::kPresent:
      return "present";
    case DatasetState::kMissing:
      return "missing";
    default:
      return "damaged";
  }
}

std::string run_list(const fs::path& data_dir, bool json) {
  Json sets = Json::array();
  std::vector<std::vector<std::string>> rows = {{"name", "images", "values", "state", "source"}};
  std::string reasons;
  for (const DatasetEntry& entry : dataset_registry()) {
    const DatasetFinding finding =
        entry.built_in ? DatasetFinding{DatasetState::kPresent} : examine_dataset(entry, data_dir);
    const std::string state = state_text(entry, finding);
    rows.push_back({entry.name, entry.sizes, entry.values, state, entry.source});
    sets.push_back({{"name", entry.name},
                    {"images", entry.sizes},
                    {"values", entry.values},
                    {"state", state},
                    {"source", entry.source},
                    {"can_be_fetched", entry.publication.has_value()}});
    if (entry.publication) sets.back()["terms"] = entry.publication->terms;
    if (finding.state != DatasetState::kDamaged) continue;
    sets.back()["reason"] = finding.text;
    reasons += fmt::format("\n{} cannot be read: {}\n", entry.name, finding.text);
  }
  if (json) {
    return text_of(Json{{"data_dir", data_dir.string()}, {"data_sets", sets}}, 2) + "\n";
  }
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i + 1 < row.size(); ++i)
      text += fmt::format("{:<{}}", row[i], widths[i] + 2);
    text += row.back() + "\n";
  }
  return text + reasons +
         fmt::format("\nThe data folder is {}. isinglass data fetch NAME... downloads sets.\n",
                     data_dir.string());
}

const DatasetEntry& published_set(const std::string& name) {
  std::vector<std::string> known;
  for (const DatasetEntry& entry : dataset_registry()) {
    if (entry.publication) known.push_back(entry.name);
    if (entry.name != name) continue;
    require(!entry.built_in, "data set {} is built in and needs no file", name);
    require(entry.publication.has_value(), "data set {} cannot be downloaded; its source: {}", name,
            entry.source);
    return entry;
  }
  fail("unknown data set '{}'; these can be downloaded: {}", name,
       fmt::join(nearest_first(name, known), ", "));
}

std::vector<const DatasetEntry*> chosen_sets(const std::string& names) {
  std::vector<const DatasetEntry*> sets;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) sets.push_back(&published_set(name));
  return sets;
}

// Shows the progress of the file that is being downloaded, in kilobytes.
class FetchProgress {
 public:
  explicit FetchProgress(bool quiet) : quiet_(quiet) {}

  bool operator()(const fs::path& file, int64_t bytes, int64_t total) {
    constexpr int64_t kUnit = 1000;
    if (total > 0 && (!bar_ || file != file_)) {
      file_ = file;
      bar_.reset();  // ends the line of the file before
      bar_ =
          std::make_unique<Progress>(file.string() + " [kB]", total / kUnit, quiet_, bytes / kUnit);
    }
    if (bar_ && file == file_) bar_->update(bytes / kUnit);
    return !interrupted();
  }

 private:
  const bool quiet_;
  fs::path file_;
  std::unique_ptr<Progress> bar_;
};

// Returns what became of the set. Throws Error if it is not there afterwards.
Json fetch_one(const DatasetEntry& entry, const FetchOptions& options, bool quiet) {
  FetchProgress progress(quiet);
  const Fetched fetched = fetch_dataset(entry, options, std::ref(progress));
  if (fetched.stopped) {
    throw Interrupted("the part that arrived is kept, and the same command continues it");
  }
  const DatasetFinding finding = examine_dataset(entry, options.data_dir);
  require(finding.state == DatasetState::kPresent, "{}", finding.text);
  Json files = Json::array();
  for (const fs::path& file : fetched.downloaded) files.push_back(file.string());
  return {{"name", entry.name},
          {"downloaded", files},
          {"read_from", finding.text},
          {"terms", entry.publication->terms}};
}

std::string fetched_text(const Json& set) {
  const size_t files = set["downloaded"].size();
  return fmt::format("{}: {}\n  read from {}\n  terms: {}\n", set["name"].get<std::string>(),
                     files == 0   ? "was there already"
                     : files == 1 ? "downloaded 1 file"
                                  : fmt::format("downloaded {} files", files),
                     set["read_from"].get<std::string>(), set["terms"].get<std::string>());
}

// Downloads all sets, also after a failure, so that one server that is down does not hold up the
// others.
std::string run_fetch(const std::vector<const DatasetEntry*>& sets, const FetchOptions& options,
                      const Options& all) {
  Json done = Json::array();
  std::vector<std::string> there, failures;
  for (const DatasetEntry* entry : sets) {
    try {
      done.push_back(fetch_one(*entry, options, quiet(all)));
      there.push_back(entry->name);
    } catch (const Error& error) {
      failures.emplace_back(error.what());
    }
  }
  require(failures.empty(), "{}{}", fmt::join(failures, "; "),
          there.empty() ? "" : fmt::format("; these sets are there: {}", fmt::join(there, ", ")));
  if (all.flag("json")) {
    return text_of(Json{{"data_dir", options.data_dir.string()}, {"data_sets", done}}, 2) + "\n";
  }
  std::string text;
  for (const Json& set : done) text += fetched_text(set);
  const std::string folder =
      all.has("data-dir") ? fmt::format(" --data-dir {}", all.text("data-dir")) : "";
  return text + fmt::format("\nnext: isinglass train --dataset {}{}\n", there[0], folder);
}

// Throws Error, which says what to type, unless the word after `isinglass data` is list or fetch.
void check_action(const std::string& action) {
  if (action == "list" || action == "fetch") return;
  const std::vector<std::string>& sets = dataset_names();
  require(std::find(sets.begin(), sets.end(), action) == sets.end(),
          "isinglass data is followed by list or fetch, not by the name of a data set; isinglass "
          "data fetch {} downloads the set",
          action);
  const std::string near = near_name(action, {"list", "fetch"});
  fail("isinglass data is followed by list or fetch, not by '{}'{}", action,
       near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

std::string run_data(const Options& options) {
  check_action(options.text("action"));
  DataSpec folder;
  if (options.has("data-dir")) folder.directory = options.path("data-dir");
  const fs::path data_dir = data_directory(folder);
  const std::string names = options.has("names") ? options.text("names") : "";
  if (options.text("action") == "list") {
    require(names.empty(), "isinglass data list shows all data sets and takes no names; got {}",
            names);
    return run_list(data_dir, options.flag("json"));
  }
  FetchOptions fetch{.data_dir = data_dir, .timeout = options.integer("timeout")};
  if (options.has("mirror")) fetch.mirror = options.text("mirror");
  require(fetch.mirror.empty() || fetch.mirror.starts_with("http://") ||
              fetch.mirror.starts_with("https://"),
          "--mirror is '{}'; an address that begins with http:// or https:// is needed",
          fetch.mirror);
  const std::vector<const DatasetEntry*> sets = chosen_sets(names);
  require(!sets.empty(),
          "isinglass data fetch needs names of data sets; isinglass data list "
          "shows them");
  return run_fetch(sets, fetch, options);
}

Option data_dir_option() {
  for (const Field<DataSpec>& field : data_fields()) {
    if (field.option.name == "data-dir") return field.option;
  }
  fail("there is no option data-dir");
}

}  // namespace

Command data_command() {
  Option data_dir = data_dir_option();
  data_dir.topic = Topic::kData;
  return {.name = "data",
          .summary = "list the data sets, or download published ones into the data folder",
          .options = {{.name = "action",
                       .unit = "list|fetch",
                       .help = "what to do; it may be given without --action",
                       .initial = "list",
                       .stored = false,
                       .topic = Topic::kData},
                      {.name = "names",
                       .unit = "NAME...",
                       .help = "data sets to download, separated by commas; they may be given "
                               "without --names",
                       .stored = false,
                       .topic = Topic::kData},
                      data_dir,
                      {.name = "mirror",
                       .unit = "URL",
                       .help = "address of a copy of a data folder, which is tried before the "
                               "published addresses",
                       .stored = false,
                       .topic = Topic::kData},
                      {.name = "timeout",
                       .type = ValueType::kInteger,
                       .unit = "SECONDS",
                       .help = "time for which a server may send nothing before it is given up",
                       .initial = int64_t{60},
                       .minimum = 1,
                       .maximum = 3600,
                       .stored = false,
                       .topic = Topic::kData}},
          .run = run_data,
          .positional = {"action", "names"},
          .several = true};
}

}  // namespace isinglass
