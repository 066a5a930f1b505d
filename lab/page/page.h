// Builds a page of `isinglass report`. Facts, tables, charts and pictures are stored as data, and a
// script in the page (page/page.js) makes the document from them. Texts from files are treated as
// data, never as markup.
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

  // Adds a part. Title and note may be empty; pieces are made by the functions below.
  void add(const std::string& title, const std::string& note, const std::vector<Json>& pieces);
};

// Returns the whole page as one file with style, charting library, script and data.
std::string html(const Page& page);

Json facts(Json named);  // Makes facts from {name: value, …}.
// Makes facts from the values of these keys that the object has.
Json facts_of(const Json& object, const std::vector<std::string>& keys);

struct Column {
  std::string title;
  bool text = false;  // The column holds left-aligned text.
  bool wrap = false, verdict = false;
};
// Makes a table. Values of rows are numbers, texts or null, or {value, half, best}, where half is
// half the width of the 95 % interval.
Json table(const std::string& heading, const std::vector<Column>& columns, Json rows);

struct Axis {
  std::string title;
  bool log = false;
};
// Makes a line chart of series {label, x, y[, half]}, where half is half the width of the 95 %
// interval of y.
Json line_chart(const std::string& title, const Axis& x, const Axis& y, Json series);
// Makes a bar chart of bars {label, value[, half]}.
Json bar_chart(const std::string& title, bool log, Json bars);
Json charts(const std::string& heading, Json list);

Json picture(const std::string& title, const std::string& png_bytes);
Json pictures(const std::string& heading, Json list);

// Returns whether the numbers are positive and their range exceeds the factor.
bool spans(const std::vector<double>& values, double factor);

// Returns a series of at most 400 points, each the mean over a stretch of equal length. Undefined
// numbers are left out.
Json thinned(const std::string& label, const std::vector<double>& x, const std::vector<double>& y);

// A section adds its parts to the pages of directories that contain its file.
struct Section {
  std::string file;
  std::function<void(Page& page, const std::filesystem::path& directory)> add;
};

// Returns the sections of list.inc, whose source files hold the entries, in this order.
const std::vector<Section>& sections();

// Adds config.toml as facts.
void add_configuration(Page& page, const std::filesystem::path& directory);

// Reads a JSON file of the directory. Throws Error if it is damaged.
Json read_json(const std::filesystem::path& file);

}  // namespace isinglass::report
