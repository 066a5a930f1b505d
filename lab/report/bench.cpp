// Writes the section of a page for a bench, from bench.json.
#include <fmt/format.h>

#include "lab/page/page.h"

namespace isinglass::report {
namespace {

namespace fs = std::filesystem;

void add_bench(Page& page, const fs::path& directory) {
  const Json bench = read_json(directory / "bench.json");
  page.title =
      fmt::format("Times of {} by {}", bench.value("model", "?"), bench.value("sampler", "?"));
  page.add("", "",
           {facts_of(bench, {"command", "chains", "device", "threads", "repeats", "seed", "version",
                             "torch"})});
  Json rows = Json::array(), bars = Json::array();
  for (const char* group : {"stages", "bounds"}) {
    for (const Json& stage : bench.value(group, Json::array())) {
      const Json& ms = stage["milliseconds"];
      rows.push_back({stage["name"], ms["median"], ms["least"], ms["most"]});
      if (group == std::string("stages"))
        bars.push_back({{"label", stage["name"]}, {"value", ms["median"]}});
    }
  }
  page.add("Stages", "The times are milliseconds per call: the median, and the range over rounds.",
           {charts("", {bar_chart("Milliseconds per call", false, bars)}),
            table("", {{"stage", true}, {"median"}, {"least"}, {"most"}}, rows)});
}

}  // namespace

std::vector<Section> bench_sections() {
  return {{"bench.json", add_bench}};
}

}  // namespace isinglass::report
