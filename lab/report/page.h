// A page of `isinglass report`: parts of facts, tables, charts and pictures as data, which a script
// in the page turns into the document (report/page.js). Texts from files are data, never markup.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/torch.h"

namespace isinglass::report {

using Json = nlohmann::ordered_json;

struct Page {
  std::string title, subtitle;
  Json parts = Json::array();

  // Title and note may be empty; pieces are those made below.
  void add(const std::string& title, const std::string& note, const std::vector<Json>& pieces);
};

// The whole page: style, charting library, script and data in one file.
std::string html(const Page& page);

Json facts(Json named);  // {name: value, …}
// Those of the object's values that it has.
Json facts_of(const Json& object, const std::vector<std::string>& keys);

struct Column {
  std::string title;
  bool text = false;  // left-aligned
  bool wrap = false, verdict = false;
};
// Values of rows are numbers, texts or null; or {value, half, best}, with half of the 95 %
// interval.
Json table(const std::string& heading, const std::vector<Column>& columns, Json rows);

struct Axis {
  std::string title;
  bool log = false;
};
// series: {label, x, y} with, where known, half: half of the 95 % interval of y.
Json line_chart(const std::string& title, const Axis& x, const Axis& y, Json series);
Json bar_chart(const std::string& title, bool log, Json bars);  // bars: {label, value[, half]}
Json charts(const std::string& heading, Json list);

Json picture(const std::string& title, const std::string& png_bytes);
Json pictures(const std::string& heading, Json list);

// Positive numbers that span more than a factor.
bool spans(const std::vector<double>& values, double factor);

// At most 400 points: means over stretches of equal length. Texts and undefined numbers stay out.
Json thinned(const std::string& label, const std::vector<double>& x, const std::vector<double>& y);

// Adds its parts to the pages of directories that have its file.
struct Section {
  std::string file;
  std::function<void(Page& page, const std::filesystem::path& directory)> add;
};

// Those of list.inc, whose sources hold the entries, in this order.
const std::vector<Section>& sections();

// config.toml as facts.
void add_configuration(Page& page, const std::filesystem::path& directory);

// A JSON file of the directory. Throws Error if it is damaged.
Json read_json(const std::filesystem::path& file);

}  // namespace isinglass::report
