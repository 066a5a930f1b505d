// Implements the registry of sections and the writing of pages.
#include "lab/report/write.h"

#include "io/error.h"
#include "io/files.h"
#include "io/json.h"
#include "lab/grid/claims.h"
#include "lab/grid/rules/claims_file.h"
#include "lab/page/page.h"

namespace isinglass {
namespace report {

#define ISINGLASS_SECTIONS(sections) std::vector<Section> sections();
#include "lab/report/list.inc"
#undef ISINGLASS_SECTIONS

const std::vector<Section>& sections() {
  static const std::vector<Section> all = [] {
    std::vector<Section> entries;
#define ISINGLASS_SECTIONS(sections) \
  for (Section & section : sections()) entries.push_back(std::move(section));
#include "lab/report/list.inc"
#undef ISINGLASS_SECTIONS
    return entries;
  }();
  return all;
}

}  // namespace report

namespace {

namespace fs = std::filesystem;

report::Page page_of(const fs::path& directory) {
  require(fs::is_directory(directory), "{} is not a run directory", directory.string());
  report::Page page;
  try {
    for (const report::Section& section : report::sections()) {
      if (fs::exists(directory / section.file)) section.add(page, directory);
    }
  } catch (const nlohmann::json::exception& error) {
    fail("the files of {} are damaged: {}", directory.string(), error.what());
  }
  require(!page.title.empty(),
          "{} does not hold a finished run of ablate, train, evaluate, sample or bench",
          directory.string());
  if (page.subtitle.empty()) page.subtitle = fs::weakly_canonical(directory).filename().string();
  report::add_configuration(page, directory);
  return page;
}

}  // namespace

void judge_grid(const fs::path& directory) {
  const fs::path file = directory / "results.json";
  if (!fs::exists(file)) return;
  try {
    report::Json results = report::read_json(file);
    report::Json judged = report::Json::array();
    const std::vector<Row> rows = rows_of(results["rows"]);
    if (const auto edited = edited_claims(directory, results, rows)) {
      for (const Claim& claim : *edited) judged.push_back(judge(claim, rows));
    } else {
      judged = judge_again(results["claims"], rows);
    }
    if (text_of(judged) == text_of(results["claims"])) return;
    results["claims"] = judged;
    write_file(file, text_of(results, 1) + "\n");
  } catch (const nlohmann::json::exception& error) {
    fail("{} is damaged: {}", file.string(), error.what());
  }
}

void write_report(const fs::path& directory, const fs::path& file) {
  write_file(file, report::html(page_of(directory)));
}

}  // namespace isinglass
