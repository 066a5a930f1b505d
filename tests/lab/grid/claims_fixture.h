// Rows of known numbers, and the verdicts on them.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/grid/claims.h"

namespace isinglass {

using Json = nlohmann::ordered_json;

// A cell of 100 chains that has converged.
inline Json row(const std::string& model, const std::string& sampler, int radius, double value,
                double se, int repeat = 0, double rhat = 1) {
  return {{"model", model},
          {"sampler", sampler},
          {"settings", {{"radius", std::to_string(radius)}}},
          {"repeat", repeat},
          {"status", "done"},
          {"chains", 100},
          {"metrics", {{"ess_per_step", value}, {"ess_per_step_se", se}, {"rhat", rhat}}}};
}

// Returns every row in so many repeats of the same numbers; their combined error is that of the
// row.
inline Json often(const Json& once, int repeats = 30) {
  Json rows = Json::array();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (Json one : once) {
      one["repeat"] = repeat;
      for (auto& [key, value] : one["metrics"].items()) {
        if (key.ends_with("_se") && value.is_number()) {
          value = value.get<double>() * std::sqrt(repeats);
        }
      }
      rows.push_back(one);
    }
  }
  return rows;
}

inline Json judged(const std::string& rule, const Json& rows,
                   const std::vector<std::string>& who = {"a"},
                   const std::vector<std::string>& than = {"b"},
                   const std::string& metric = "ess_per_step") {
  const std::string axis = rule == "degrades-less" ? "radius" : "";
  return judge({"", rule, metric, axis, who, than, {}}, rows_of(rows));
}

inline std::string verdict(const std::string& rule, const Json& rows,
                           const std::vector<std::string>& who = {"a"},
                           const std::vector<std::string>& than = {"b"},
                           const std::string& metric = "ess_per_step") {
  return judged(rule, rows, who, than, metric)["verdict"];
}

inline std::string reason(const std::string& rule, const Json& rows) {
  return judged(rule, rows)["models"][0].value("reason", "");
}

}  // namespace isinglass
