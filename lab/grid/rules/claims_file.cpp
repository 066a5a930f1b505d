// Implements the reading and the checks of claims.
#include "lab/grid/rules/claims_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "io/files.h"
#include "lab/grid/entries.h"
#include "lab/grid/metrics.h"
#include "lab/grid/rules/rule.h"
#include "lab/grid/rules/side.h"
#include "lab/toml.h"
#include "models/registry.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;
using Settings = std::vector<Setting>;

// Lists every text once, the nearest to `text` first.
std::string nearest_of(const std::string& text, const std::set<std::string>& known) {
  return fmt::format(
      "{}",
      fmt::join(nearest_first(text, std::vector<std::string>(known.begin(), known.end())), ", "));
}

Claim read_claim(const toml::table& table, const std::string& where) {
  check_keys(table, where, {"text", "rule", "metric", "axis", "who", "than", "models", "margin"});
  const auto text = [&](const char* key) { return text_of(table, key, where).value_or(""); };
  Claim claim{.text = text("text"),
              .rule = text("rule"),
              .metric = text("metric"),
              .axis = text("axis"),
              .who = text_list(table, "who", where),
              .than = text_list(table, "than", where),
              .models = text_list(table, "models", where)};
  claim.margin = value_of<double>(table, "margin", where, "a number").value_or(claim.margin);
  require(claim.margin >= 0 && claim.margin < 1,
          "{}: margin is {}; it must be at least 0 and below 1", where, claim.margin);
  const bool shares = find_claim_rule(claim.rule, where).shares;
  find_metric(claim.metric, where);
  require(!claim.text.empty() && !claim.who.empty() && !claim.than.empty(),
          "{}: a claim needs text, who and than", where);
  require(shares == !claim.axis.empty(), "{}: the rule {} {}", where, claim.rule,
          shares ? "needs an axis" : "takes no axis");
  return claim;
}

// Throws Error for a selector that selects nothing, with suggestions.
[[noreturn]] void fail_selector(const std::string& selector, const Settings& settings,
                                const std::string& where) {
  const std::string sampler = selector.substr(0, selector.find(' '));
  std::set<std::string> samplers, own;
  for (const Setting& setting : settings) {
    samplers.insert(setting.sampler);
    if (setting.sampler == sampler) own.insert(setting.label());
  }
  require(samplers.contains(sampler), "{}: '{}' is not a sampler of the grid; known: {}", where,
          selector, nearest_of(sampler, samplers));
  fail("{}: '{}' selects no setting; the settings of {} are {}", where, selector, sampler,
       nearest_of(selector, own));
}

// Throws Error unless the claim's rule can compare shares of the best value along its axis.
void check_axis(const Claim& claim, const Settings& selected, const std::string& selector,
                const std::string& where) {
  std::set<std::string> names;
  for (const Setting& setting : selected) {
    for (const auto& [name, value] : setting.settings) names.insert(name);
  }
  require(names.contains(claim.axis), "{}: axis '{}' is not a setting of '{}'; known: {}", where,
          claim.axis, selector, nearest_of(claim.axis, names));
  size_t with_axis = 0;
  for (const Setting& setting : selected) {
    if (!setting.settings.contains(claim.axis)) continue;
    ++with_axis;
    require(swept_values({setting}, claim.axis).size() == 1,
            "{}: axis '{}' of '{}' is {}, which is not a number", where, claim.axis, selector,
            setting.settings.at(claim.axis));
  }
  require(swept_values(selected, claim.axis).size() > 1,
          "{}: axis '{}' has a single value for '{}', so that nothing can degrade along it", where,
          claim.axis, selector);
}

void check_claim(const Claim& claim, const Settings& settings, const std::string& where) {
  std::set<std::string> models;
  for (const Setting& setting : settings) models.insert(setting.model);
  for (const std::string& model : claim.models) {
    require(models.contains(model), "{}: '{}' is not a model of the grid; known: {}", where, model,
            nearest_of(model, models));
  }
  for (const auto* side : {&claim.who, &claim.than}) {
    for (const std::string& selector : *side) {
      Settings selected;
      for (const Setting& setting : settings) {
        if (selects(selector, setting)) selected.push_back(setting);
      }
      if (selected.empty()) fail_selector(selector, settings, where);
      if (!claim.axis.empty()) check_axis(claim, selected, selector, where);
    }
  }
}

}  // namespace

std::vector<Claim> read_claims(const toml::table& grid, const std::string& name) {
  std::vector<Claim> claims;
  if (!grid.contains("claims")) return claims;
  for (const toml::node& node : entries(grid, "claims", name)) {
    claims.push_back(read_claim(*node.as_table(), fmt::format("{}: [[claims]]", name)));
  }
  return claims;
}

void check_claims(const std::vector<Claim>& claims, const Settings& settings,
                  const std::string& name,
                  const std::function<bool(const std::string&)>& measured) {
  for (const Claim& claim : claims) {
    const std::string where = fmt::format("{}: the claim '{}'", name, claim.text);
    require(measured(claim.metric), "{}: the grid's cells do not measure {}", where, claim.metric);
    check_claim(claim, settings, where);
  }
}

std::string undecidable(const std::vector<Claim>& claims, const Settings& settings,
                        int64_t repeats) {
  for (const Claim& claim : claims) {
    bool choice = false;
    for (const auto* side : {&claim.who, &claim.than}) {
      std::map<std::string, int64_t> of_model;
      for (const Setting& setting : settings) {
        const bool counts =
            std::any_of(side->begin(), side->end(),
                        [&](const std::string& selector) { return selects(selector, setting); });
        if (counts) choice |= ++of_model[setting.model] > 1;
      }
    }
    const int64_t judging = choice ? repeats - repeats / 2 : repeats;
    if (judging >= kLeastJudged) continue;
    return fmt::format(
        "`repeats` is {}{}, and {} are needed, so that the claim '{}' will be undecided; {} "
        "repeats are enough",
        repeats, choice ? fmt::format("; only {} of them would judge", judging) : "", kLeastJudged,
        claim.text, choice ? 2 * kLeastJudged - 1 : kLeastJudged);
  }
  return "";
}

std::optional<std::vector<Claim>> edited_claims(const fs::path& directory,
                                                const nlohmann::ordered_json& results,
                                                const std::vector<Row>& rows) {
  const fs::path file = configured_text(directory / "config.toml", "grid").value_or("");
  if (!fs::is_regular_file(file)) return std::nullopt;
  const std::string name = file.string();
  std::vector<Claim> claims = read_claims(parse_toml(read_file(file), name), name);
  const auto smaller = results.value("smaller", nlohmann::ordered_json::object());
  for (const auto& [model, stands_for] : smaller.items()) {
    for (Claim& claim : claims) {
      std::replace(claim.models.begin(), claim.models.end(), stands_for.get<std::string>(), model);
    }
  }
  Settings settings;
  for (const Row& row : rows) settings.push_back(setting_of(row));
  check_claims(claims, settings, name, [&](const std::string& metric) {
    return std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
      return row.metrics.count(metric) > 0 || !row.done();
    });
  });
  return claims;
}

}  // namespace isinglass
