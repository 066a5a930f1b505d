// isinglass report: makes one HTML page of the contents of a directory, which holds a grid or a run
// of training, evaluation, sampling or bench. The page needs no network.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "io/error.h"
#include "io/json.h"
#include "lab/report/write.h"
#include "lab/spec/configuration.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

std::string run_report(const Options& options) {
  const fs::path directory = options.path("directory");
  refuse_recipe(directory);
  const fs::path file = options.has("out") ? options.path("out") : directory / "report.html";
  require(!fs::is_directory(file), "--out {} is a directory, but it must be a file", file.string());
  judge_grid(directory);
  write_report(directory, file);
  if (!options.flag("json")) return fmt::format("{}\n", file.string());
  return text_of(nlohmann::ordered_json{{"report", fs::absolute(file).string()}}, 2) + "\n";
}

}  // namespace

Command report_command() {
  return {.name = "report",
          .summary = "write the report of a run or a grid, one HTML file that needs no network",
          .options = {{.name = "directory",
                       .type = ValueType::kPath,
                       .unit = "DIR",
                       .help = "directory that ablate, train, evaluate, sample or bench wrote; it "
                               "may be given without --directory",
                       .topic = Topic::kData},
                      {.name = "out",
                       .type = ValueType::kPath,
                       .unit = "FILE",
                       .help = "file to write (default: DIR/report.html)",
                       .stored = false,
                       .topic = Topic::kOutput}},
          .run = run_report,
          .positional = {"directory"}};
}

}  // namespace isinglass
