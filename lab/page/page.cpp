// Implements the pieces of a page and its HTML.
#include "lab/page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/error.h"
#include "io/files.h"
#include "lab/embedded.h"
#include "lab/toml.h"

namespace isinglass::report {
namespace {

namespace fs = std::filesystem;

const std::string& embedded(const std::string& name) {
  for (const EmbeddedFile& file : report_files()) {
    if (file.name == name) return file.text;
  }
  fail("this program was built without its file {}", name);
}

std::string markup_text(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<')
      safe += "&lt;";
    else if (c == '&')
      safe += "&amp;";
    else
      safe += c;
  }
  return safe;
}

// Returns JSON that cannot close the script element that contains it. It is plain ASCII, so that
// arbitrary bytes of files pass.
std::string script_data(const Json& json) {
  std::string safe;
  for (const char c : json.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  }
  return safe;
}

std::string base64(const std::string& bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = std::min<size_t>(3, bytes.size() - i);
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k) {
      word = word << 8 | (k < left ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += k <= left ? kDigits[word >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

}  // namespace

void Page::add(const std::string& title, const std::string& note, const std::vector<Json>& pieces) {
  parts.push_back({{"title", title}, {"note", note}, {"pieces", pieces}});
}

std::string html(const Page& page) {
  const Json data = {{"title", page.title}, {"subtitle", page.subtitle}, {"parts", page.parts}};
  const std::vector<std::pair<std::string, std::string>> slots = {
      {"{{title}}", markup_text(page.title)}, {"{{style}}", embedded("page.css")},
      {"{{data}}", script_data(data)},        {"{{library}}", embedded("chart.min.js")},
      {"{{script}}", embedded("page.js")},
  };
  const std::string& layout = embedded("page.html");
  std::string text;
  size_t from = 0;
  for (const auto& [slot, content] : slots) {  // The slots are in the order of the layout.
    const size_t at = layout.find(slot, from);
    TORCH_INTERNAL_ASSERT(at != std::string::npos, slot);
    text += layout.substr(from, at - from) + content;
    from = at + slot.size();
  }
  return text + layout.substr(from);
}

Json facts(Json named) {
  return {{"kind", "facts"}, {"facts", std::move(named)}};
}

Json facts_of(const Json& object, const std::vector<std::string>& keys) {
  Json list = Json::object();
  for (const std::string& key : keys) {
    if (object.contains(key)) list[key] = object[key];
  }
  return facts(list);
}

Json table(const std::string& heading, const std::vector<Column>& columns, Json rows) {
  Json heads = Json::array();
  for (const Column& column : columns) {
    heads.push_back({{"title", column.title},
                     {"text", column.text},
                     {"wrap", column.wrap},
                     {"verdict", column.verdict}});
  }
  return {{"kind", "table"}, {"heading", heading}, {"columns", heads}, {"rows", std::move(rows)}};
}

Json line_chart(const std::string& title, const Axis& x, const Axis& y, Json series) {
  return {{"title", title},
          {"x", {{"title", x.title}, {"log", x.log}}},
          {"y", {{"title", y.title}, {"log", y.log}}},
          {"series", std::move(series)}};
}

Json bar_chart(const std::string& title, bool log, Json bars) {
  return {{"title", title}, {"log", log}, {"bars", std::move(bars)}};
}

Json charts(const std::string& heading, Json list) {
  return {{"kind", "charts"}, {"heading", heading}, {"charts", std::move(list)}};
}

Json picture(const std::string& title, const std::string& png_bytes) {
  return {{"title", title}, {"source", "data:image/png;base64," + base64(png_bytes)}};
}

Json pictures(const std::string& heading, Json list) {
  return {{"kind", "pictures"}, {"heading", heading}, {"images", std::move(list)}};
}

bool spans(const std::vector<double>& values, double factor) {
  if (values.empty()) return false;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *least > 0 && *most > factor * *least;
}

Json thinned(const std::string& label, const std::vector<double>& x, const std::vector<double>& y) {
  constexpr size_t kPoints = 400;
  const size_t stretch = (x.size() + kPoints - 1) / kPoints;
  std::vector<double> at, mean;
  for (size_t first = 0; first < x.size(); first += stretch) {
    const size_t last = std::min(first + stretch, x.size());
    double mean_x = 0, mean_y = 0, count = 0;
    // Running means are used in place of sums, so that the mean of a constant is exactly the
    // constant.
    for (size_t i = first; i < last; ++i) {
      if (!std::isfinite(y[i])) continue;
      ++count;
      mean_x += (x[i] - mean_x) / count, mean_y += (y[i] - mean_y) / count;
    }
    if (count == 0) continue;
    at.push_back(mean_x);
    mean.push_back(mean_y);
  }
  return {{"label", label}, {"x", at}, {"y", mean}};
}

void add_configuration(Page& page, const fs::path& directory) {
  const fs::path file = directory / "config.toml";
  if (!fs::exists(file)) return;
  Json list = Json::object();
  for (const auto& [key, node] : parse_toml(read_file(file), file.string())) {
    Json value = nullptr;
    node.visit([&](const auto& element) {
      using Element = std::decay_t<decltype(element)>;
      if constexpr (toml::is_string<Element> || toml::is_number<Element> ||
                    toml::is_boolean<Element>) {
        value = element.get();
      }
    });
    list[std::string(key.str())] = value.is_boolean() ? Json(value.dump()) : value;
  }
  page.add("Configuration", "", {facts(list)});
}

Json read_json(const fs::path& file) {
  Json json = Json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
  require(json.is_object(), "{} is not a JSON object", file.string());
  return json;
}

}  // namespace isinglass::report
