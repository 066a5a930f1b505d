// isinglass report: one HTML page of what a directory holds — a grid, or a run of training,
// evaluation, sampling or bench — that opens with no network.
#include "cli/commands/report.h"

#include <fmt/format.h>

#include "lab/grid/claims.h"
#include "cli/commands/commands.h"
#include "lab/report/page.h"
#include "io/error.h"
#include "io/files.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

struct Kind {
  const char* file;
  void (*add)(report::Page&, const fs::path&);
};

constexpr Kind kKinds[] = {{"results.json", report::add_grid},
                           {"metrics.jsonl", report::add_training},
                           {"ais.json", report::add_evaluation},
                           {"summary.json", report::add_sampling},
                           {"bench.json", report::add_bench}};

report::Page page_of(const fs::path& directory) {
  require(fs::is_directory(directory), "{} is no directory of a run", directory.string());
  report::Page page;
  try {
    for (const Kind& kind : kKinds) {
      if (fs::exists(directory / kind.file)) kind.add(page, directory);
    }
  } catch (const nlohmann::json::exception& error) {
    fail("{}: its files are damaged: {}", directory.string(), error.what());
  }
  require(!page.title.empty(),
          "{} holds no finished run of ablate, train, evaluate, sample or bench",
          directory.string());
  if (page.subtitle.empty()) page.subtitle = fs::weakly_canonical(directory).filename().string();
  report::add_configuration(page, directory);
  return page;
}

// The verdicts of a grid follow from its rows by the rules of this program.
void judge_grid(const fs::path& directory) {
  const fs::path file = directory / "results.json";
  if (!fs::exists(file)) return;
  try {
    report::Json results = report::read_json(file);
    const report::Json judged = judge_again(results["claims"], results["rows"]);
    if (judged.dump() == results["claims"].dump()) return;
    results["claims"] = judged;
    write_file(file, results.dump(1) + "\n");
  } catch (const nlohmann::json::exception& error) {
    fail("{}: it is damaged: {}", file.string(), error.what());
  }
}

std::string run_report(Options& options) {
  const fs::path directory = options.path("directory");
  const fs::path file = options.has("out") ? options.path("out") : directory / "report.html";
  require(!fs::is_directory(file), "--out {} is a directory; a file name is needed", file.string());
  judge_grid(directory);
  write_report(directory, file);
  if (!options.flag("json")) return fmt::format("{}\n", file.string());
  return nlohmann::ordered_json{{"report", fs::absolute(file).string()}}.dump(2) + "\n";
}

}  // namespace

void write_report(const fs::path& directory, const fs::path& file) {
  write_file(file, report::html(page_of(directory)));
}

Command report_command() {
  return {
      .name = "report",
      .summary = "make the page of a run or a grid: one HTML file that opens with no network",
      .options = {{.name = "directory",
                   .type = ValueType::kPath,
                   .unit = "DIR",
                   .help =
                       "what ablate, train, evaluate, sample or bench wrote; the bare argument"},
                  {.name = "out",
                   .type = ValueType::kPath,
                   .unit = "FILE",
                   .help = "the page (default: DIR/report.html)",
                   .stored = false}},
      .run = run_report,
      .positional = "directory"};
}

}  // namespace isinglass
