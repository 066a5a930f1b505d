// Implements the JSON and the tables of bench results.
#include "lab/bench/report.h"

#include <ATen/Parallel.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <omp.h>
#include <torch/version.h>

#include <algorithm>

#include "io/error.h"
#include "io/files.h"
#include "io/json.h"
#include "io/machine.h"
#include "lab/bench/stages.h"
#include "lab/identity.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

Json machine_json(torch::Device device) {
  Json machine = {{"cpu", processor_name()}, {"cores", omp_get_num_procs()}};
  cudaDeviceProp properties;
  if (device.is_cuda() && cudaGetDeviceProperties(&properties, device.index()) == cudaSuccess) {
    machine["gpu"] = properties.name;
  }
  return machine;
}

std::string shown(const Json& value) {
  return value.is_string() ? value.get<std::string>() : text_of(value);
}

// Returns the highest rate among the bounds, or 0 if none was measured.
double best(const std::vector<Measurement>& bounds, double (Measurement::*rate)() const) {
  double most = 0;
  for (const Measurement& bound : bounds) most = std::max(most, (bound.*rate)());
  return most;
}

Json stage_json(const Measurement& stage, const std::vector<Measurement>& bounds) {
  const Spread& s = stage.seconds;
  Json json = {{"name", stage.name},
               {"milliseconds",
                {{"median", 1e3 * s.median}, {"least", 1e3 * s.least}, {"most", 1e3 * s.most}}},
               {"calls_per_second", 1 / s.median},
               {"calls_per_measurement", stage.calls}};
  const double flops = best(bounds, &Measurement::flops_per_second);
  const double bytes = best(bounds, &Measurement::bytes_per_second);
  if (stage.flops > 0) {
    json["gflop"] = 1e-9 * stage.flops;
    json["gflop_per_second"] = 1e-9 * stage.flops_per_second();
    if (flops > 0) json["of_sgemm"] = stage.flops_per_second() / flops;
  }
  if (stage.bytes > 0) {
    json["gigabytes"] = 1e-9 * stage.bytes;
    json["gigabytes_per_second"] = 1e-9 * stage.bytes_per_second();
    if (bytes > 0) json["of_copy"] = stage.bytes_per_second() / bytes;
  }
  return json;
}

Json stages_json(const std::vector<Measurement>& stages, const std::vector<Measurement>& bounds) {
  Json json = Json::array();
  for (const Measurement& stage : stages) json.push_back(stage_json(stage, bounds));
  return json;
}

const Json* find_stage(const Json& result, const std::string& name) {
  for (const char* list : {"stages", "bounds"}) {
    for (const Json& stage : result[list]) {
      if (stage["name"] == name) return &stage;
    }
  }
  return nullptr;
}

bool is_stage(const Json& stage) {
  if (!stage.is_object() || !stage.contains("name") || !stage["name"].is_string()) return false;
  const Json times = stage.value("milliseconds", Json());
  const auto positive = [&](const char* key) {
    return times.contains(key) && times[key].is_number() && times[key].get<double>() > 0;
  };
  return times.is_object() && positive("median") && positive("least") && positive("most");
}

// Returns the settings on which times depend and that differ between the two results. The choice of
// stages and the numbers of rounds are left out.
Json changed_settings(const Json& now, const Json& then) {
  Json changed = Json::object();
  for (const char* part : {"settings", "machine"}) {
    for (const auto& [name, value] : now[part].items()) {
      if (name == "stages" || name == "repeats" || name == "warm-up") continue;
      const Json before = then[part].value(name, Json());
      if (before != value) changed[name] = {{"now", value}, {"then", before}};
    }
  }
  return changed;
}

std::string rate_text(const Json& stage) {
  const auto text = [&](const char* rate, const char* unit, const char* share, const char* bound) {
    std::string line = fmt::format("  {:9.4g} {}", stage[rate].get<double>(), unit);
    if (stage.contains(share)) {
      line += fmt::format(", {:.3g} % of {}", 100 * stage[share].get<double>(), bound);
    }
    return line;
  };
  if (stage.contains("gflop")) return text("gflop_per_second", "GFLOP/s", "of_sgemm", "sgemm");
  if (stage.contains("gigabytes")) return text("gigabytes_per_second", "GB/s", "of_copy", "copy");
  return "";
}

std::string stage_text(const Json& stage) {
  const Json& ms = stage["milliseconds"];
  return fmt::format("  {:<18} {:>10.4g} {:>10.4g} {:>10.4g} {:>10.4g}{}\n",
                     stage["name"].get<std::string>(), ms["median"].get<double>(),
                     ms["least"].get<double>(), ms["most"].get<double>(),
                     stage["calls_per_second"].get<double>(), rate_text(stage));
}

std::string comparison_text(const Json& comparison) {
  std::string text =
      fmt::format("ratio of the times now and in {}\n", comparison["file"].get<std::string>());
  for (const auto& [name, change] : comparison["changed"].items()) {
    text += fmt::format("  {}: now {}, then {}\n", name, shown(change["now"]),
                        change["then"].is_null() ? "nothing" : shown(change["then"]));
  }
  text += fmt::format("  {:<18} {:>10} {:>33} {:>33}\n", "stage", "ratio", "ms now", "ms then");
  const auto spread = [](const Json& ms) {
    return fmt::format("{:.4g} ({:.4g} to {:.4g})", ms["median"].get<double>(),
                       ms["least"].get<double>(), ms["most"].get<double>());
  };
  for (const Json& stage : comparison["stages"]) {
    const double ratio = stage["ratio"].get<double>();
    text += fmt::format("  {:<18} {:>10.3f} {:>33} {:>33}{}\n", stage["name"].get<std::string>(),
                        ratio, spread(stage["now"]), spread(stage["then"]),
                        !stage["beyond_spread"].get<bool>() ? ""
                        : ratio < 1                         ? "  faster, beyond the spread"
                                                            : "  slower, beyond the spread");
  }
  return text;
}

}  // namespace

Json bench_json(const BenchSpec& spec, const Json& settings, const std::string& command,
                std::vector<Measurement> measurements, torch::Device device) {
  const auto middle = std::stable_partition(measurements.begin(), measurements.end(),
                                            [](const Measurement& m) { return !is_bound(m.name); });
  const std::vector<Measurement> stages(measurements.begin(), middle);
  const std::vector<Measurement> bounds(middle, measurements.end());
  return {{"model", spec.model.name},
          {"sampler", spec.sampler.name},
          {"chains", spec.chains},
          {"device", device.str()},
          {"threads", at::get_num_threads()},
          {"repeats", spec.repeats},
          {"seed", spec.seed},
          {"machine", machine_json(device)},
          {"version", kProgramVersion},
          {"revision", program_revision()},
          {"torch", TORCH_VERSION},
          {"command", command},
          {"settings", settings},
          {"stages", stages_json(stages, bounds)},
          {"bounds", stages_json(bounds, bounds)}};
}

Json read_bench(const std::filesystem::path& file) {
  Json result = Json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
  const auto has = [&](const char* key, bool (Json::*type)() const noexcept) {
    return result.contains(key) && (result[key].*type)();
  };
  bool valid = result.is_object() && has("stages", &Json::is_array) &&
               has("bounds", &Json::is_array) && has("settings", &Json::is_object) &&
               has("machine", &Json::is_object);
  for (const char* list : {"stages", "bounds"}) {
    valid = valid && std::all_of(result[list].begin(), result[list].end(), is_stage);
  }
  require_options(
      valid,
      "`compare` {} is not a result of isinglass bench, which is its bench.json or --json output",
      file.string());
  return result;
}

Json compare_bench(const Json& now, const Json& then) {
  Json stages = Json::array();
  for (const char* list : {"stages", "bounds"}) {
    for (const Json& stage : now[list]) {
      const Json* other = find_stage(then, stage["name"]);
      if (!other) continue;
      const Json &a = stage["milliseconds"], &b = (*other)["milliseconds"];
      const bool apart = a["least"] > b["most"] || a["most"] < b["least"];
      stages.push_back({{"name", stage["name"]},
                        {"ratio", a["median"].get<double>() / b["median"].get<double>()},
                        {"beyond_spread", apart},
                        {"now", a},
                        {"then", b}});
    }
  }
  return {{"changed", changed_settings(now, then)}, {"stages", stages}};
}

std::string bench_text(const Json& result) {
  const Json& machine = result["machine"];
  std::string text = fmt::format(
      "{} by {}, {} chains, {} ({}), {} threads, seed {}: medians of {} rounds\n"
      "  {:<18} {:>10} {:>10} {:>10} {:>10}\n",
      result["model"].get<std::string>(), result["sampler"].get<std::string>(),
      result["chains"].get<int64_t>(), result["device"].get<std::string>(),
      machine.value("gpu", machine["cpu"].get<std::string>()), result["threads"].get<int>(),
      result["seed"].get<int64_t>(), result["repeats"].get<int64_t>(), "stage", "ms", "least",
      "most", "a second");
  for (const char* list : {"stages", "bounds"}) {
    for (const Json& stage : result[list]) text += stage_text(stage);
  }
  if (result.contains("comparison")) text += comparison_text(result["comparison"]);
  return text;
}

}  // namespace isinglass
