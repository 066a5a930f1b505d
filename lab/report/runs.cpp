// The pages of single runs: training, evaluation, sampling, bench.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "lab/toml.h"
#include "lab/report/page.h"
#include "engine/annealing/ais.h"
#include "engine/diagnostics/autocorrelation.h"
#include "io/error.h"
#include "io/files.h"
#include "io/picture.h"
#include "io/pt/pt_file.h"

namespace isinglass::report {
namespace {

namespace fs = std::filesystem;

// Of an evaluation's weights; empty where they suffice or are not known.
std::string warning_of(const Json& ais) {
  if (!ais.contains("weight_ess") || !ais.contains("chains")) return "";
  const double ess = ais["weight_ess"].is_number() ? ais["weight_ess"].get<double>() : NAN;
  const std::string warning = weights_warning(ess, ais["chains"]);
  return warning.empty() ? "" : "Warning: " + warning + ".";
}

// The loss of training without chains is the objective's.
std::string loss_title(const fs::path& directory) {
  const std::string objective =
      configured_text(directory / "config.toml", "objective").value_or("");
  if (objective == "dsm") return "Loss: denoising score matching";
  return objective == "classify" ? "Loss: cross-entropy, nats per image" : "Loss";
}

// Columns of metrics.jsonl by name; a line that lacks one has NaN there.
class Curves {
 public:
  explicit Curves(const fs::path& file) {
    std::istringstream in(read_file(file));
    for (std::string line; std::getline(in, line);) {
      Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (json.is_object()) lines_.push_back(std::move(json));  // the last one may be cut off
    }
    require(!lines_.empty(), "{} holds no iteration", file.string());
  }
  std::vector<double> column(const char* key) const {
    std::vector<double> values;
    for (const Json& line : lines_) {
      const auto found = line.find(key);
      values.push_back(found != line.end() && found->is_number() ? found->get<double>() : NAN);
    }
    return values;
  }
  bool has(const char* key) const {
    const std::vector<double> values = column(key);
    return std::any_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
  }
  const Json& last() const { return lines_.back(); }

 private:
  std::vector<Json> lines_;
};

Json curve(const Curves& curves, const std::string& title,
           const std::vector<std::pair<const char*, const char*>>& columns) {
  Json series = Json::array();
  const std::vector<double> iteration = curves.column("iteration");
  bool wide = true;
  for (const auto& [key, label] : columns) {
    Json line = thinned(label, iteration, curves.column(key));
    wide = wide && spans(line["y"].get<std::vector<double>>(), 100);
    series.push_back(std::move(line));
  }
  return line_chart(title, {"iteration"}, {title, wide}, series);
}

// data.png, and up to 6 of the pictures of chains, evenly spaced, the last one among them.
Json training_pictures(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(directory / "samples", missing)) {
    if (entry.path().extension() == ".png") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  Json list = Json::array();
  if (fs::exists(directory / "data.png")) {
    list.push_back(picture("data", read_file(directory / "data.png")));
  }
  constexpr size_t kMost = 6;
  const size_t count = std::min(kMost, files.size());
  for (size_t i = 1; i <= count; ++i) {
    const fs::path& file = files[i * files.size() / count - 1];
    list.push_back(picture("chains at iteration " + std::to_string(std::atoll(file.stem().c_str())),
                           read_file(file)));
  }
  return list;
}

Json object_facts(const Json& object, const std::vector<std::string>& keys) {
  Json list = Json::object();
  for (const std::string& key : keys) {
    if (object.contains(key)) list[key] = object[key];
  }
  return facts(list);
}

std::vector<double> numbers(const torch::Tensor& values) {
  const torch::Tensor x = values.to(torch::kFloat64).contiguous();
  return {x.data_ptr<double>(), x.data_ptr<double>() + x.numel()};
}

// Energies of a few chains, and the autocorrelation over all.
Json sampling_charts(const torch::Tensor& energy, int64_t thin) {
  constexpr int64_t kChains = 5, kLags = 200;
  const std::vector<double> step = numbers(thin * torch::arange(1, energy.size(0) + 1));
  Json traces = Json::array(
      {thinned("mean of all chains", step, numbers(energy.to(torch::kFloat64).mean(1)))});
  for (int64_t chain = 0; chain < std::min(kChains, energy.size(1)); ++chain) {
    traces.push_back(
        thinned(fmt::format("chain {}", chain), step, numbers(energy.select(1, chain))));
  }
  Json list = Json::array({line_chart("Energy", {"step"}, {"energy"}, traces)});
  if (energy.size(0) > 3) {
    const torch::Tensor rho = autocorrelation(energy).nanmean(1).slice(0, 0, kLags);
    const std::vector<double> lag = numbers(thin * torch::arange(rho.numel()));
    list.push_back(line_chart(
        "Autocorrelation of the energy, mean over chains", {"lag, steps"}, {"autocorrelation"},
        Json::array({{{"label", "energy"}, {"x", lag}, {"y", numbers(rho)}}})));
  }
  return list;
}

// The last states of up to 36 chains as images, where discrete sites fill a square.
Json state_pictures(const torch::Tensor& samples) {
  const torch::Tensor last = samples[samples.size(0) - 1].slice(0, 0, 36);
  const int64_t sites = last.size(1), side = std::llround(std::sqrt(static_cast<double>(sites)));
  const bool drawable = side * side == sites && sites > 16 && last.scalar_type() == torch::kUInt8;
  if (!drawable) return Json::array();
  const int64_t most = std::max<int64_t>(1, last.max().item<int64_t>());
  const int scale = static_cast<int>(255 / most);
  return Json::array(
      {picture("last states of the chains", picture_grid(last, side, side, 6, scale))});
}

}  // namespace

void add_training(Page& page, const fs::path& directory) {
  const Curves curves(directory / "metrics.jsonl");
  page.title = "Training";
  const Json& last = curves.last();
  page.add("", "",
           {object_facts(last, {"iteration", "loss", "energy_data", "energy_model", "difference",
                                "acceptance", "hops", "validation_score", "validation_weight_ess",
                                "seconds"})});
  Json list = Json::array();
  const auto add = [&](const std::string& title,
                       const std::vector<std::pair<const char*, const char*>>& columns) {
    const bool recorded = std::any_of(columns.begin(), columns.end(),
                                      [&](const auto& column) { return curves.has(column.first); });
    if (recorded) list.push_back(curve(curves, title, columns));
  };
  add(loss_title(directory), {{"loss", "loss"}});
  add("Mean energy", {{"energy_data", "data"}, {"energy_model", "chains"}});
  add("Energy of data − chains", {{"difference", "difference"}});
  add("Acceptance", {{"acceptance", "acceptance"}});
  add("Sites changed per step", {{"hops", "hops"}});
  add("Norm of the gradient", {{"gradient_norm", "gradient"}});
  add("Iterations per second", {{"iterations_per_second", "rate"}});
  add("Validation score, nats per image", {{"validation_score", "score"}});
  add("Validation score: ESS of the weights", {{"validation_weight_ess", "ESS"}});
  const std::string scores =
      curves.has("validation_score") ? std::string(" Validation scores: ") + kForwardBias : "";
  page.add("Curves", "Long runs are drawn as means over stretches of iterations." + scores,
           {charts("", list)});
  const Json images = training_pictures(directory);
  if (!images.empty()) page.add("Images", "", {pictures("", images)});
}

void add_evaluation(Page& page, const fs::path& directory) {
  const Json ais = read_json(directory / "ais.json");
  page.title = "Evaluation by annealed importance sampling";
  page.add("", warning_of(ais),
           {object_facts(ais, {"model", "sampler", "schedule", "chains", "steps", "log_z",
                               "log_z_se", "log_z_upper", "log_z_upper_se", "weight_ess",
                               "acceptance", "seconds", "device", "seed", "version"})});
  std::vector<double> temperatures, log_z;
  for (const Json& point : ais.value("curve", Json::array())) {
    if (!point.is_array() || point.size() != 2 || !point[0].is_number() || !point[1].is_number())
      continue;
    temperatures.push_back(point[0]);
    log_z.push_back(point[1]);
  }
  if (!temperatures.empty()) {
    Json series = Json::array();
    series.push_back({{"label", "log Z, from below"}, {"x", temperatures}, {"y", log_z}});
    if (ais.value("log_z_upper", Json()).is_number()) {
      const double upper = ais["log_z_upper"];
      series.push_back({{"label", "from above, reverse annealing"},
                        {"x", {temperatures.front(), temperatures.back()}},
                        {"y", {upper, upper}}});
    }
    page.add("Convergence", "log Z against the number of temperatures.",
             {charts("", {line_chart("log Z", {"temperatures", true}, {"log Z"}, series)})});
  }
  Json rows = Json::array();
  const Json likelihoods = ais.value("log_likelihood", Json::object());
  for (const auto& [split, value] : likelihoods.items()) {
    const auto other = [&](const char* key) {
      return ais.value(key, Json::object()).value(split, Json());
    };
    rows.push_back({split, value, other("bits_per_dim"), other("baseline")});
  }
  if (rows.empty()) return;
  const std::string warning = warning_of(ais);
  page.add("Log-likelihood", kForwardBias + (warning.empty() ? "" : " " + warning),
           {table("",
                  {{"split", true},
                   {"nats per image"},
                   {"bits per dimension"},
                   {"independent pixels, nats"}},
                  rows)});
}

void add_sampling(Page& page, const fs::path& directory) {
  const Json summary = read_json(directory / "summary.json");
  page.title = fmt::format("{} by {}", summary.value("model", "?"), summary.value("sampler", "?"));
  Json list = Json::object();
  for (const auto& [key, value] : summary.items()) {
    if (!value.is_structured()) list[key] = value.is_boolean() ? Json(value.dump()) : value;
  }
  page.add("", "", {facts(list)});
  const Json effective = summary.value("ess", Json::object());
  Json ess = Json::array();
  for (const auto& [key, value] : effective.items()) ess.push_back({key, value});
  page.add(
      "Effective sample size",
      fmt::format("Of the {}. mean to per_second_all: the papers' estimator, a chain; bulk and "
                  "tail: all chains together.",
                  summary.value("statistic", "energy")),
      {table("", {{"", true}, {"value"}}, ess)});
  if (!fs::exists(directory / "samples.pt")) return;
  torch::Tensor samples, energy;
  for (const auto& [name, tensor] : read_named_tensors(directory / "samples.pt")) {
    (name == "samples" ? samples : energy) = tensor;
  }
  require(samples.defined() && energy.defined() && samples.dim() == 3 && energy.dim() == 2,
          "{} holds no samples and energy", (directory / "samples.pt").string());
  if (energy.size(0) == 0) return;
  page.add("Chains", "", {charts("", sampling_charts(energy, summary.value("thin", int64_t{1})))});
  const Json images = state_pictures(samples);
  if (!images.empty()) page.add("States", "", {pictures("", images)});
}

void add_bench(Page& page, const fs::path& directory) {
  const Json bench = read_json(directory / "bench.json");
  page.title =
      fmt::format("Times of {} by {}", bench.value("model", "?"), bench.value("sampler", "?"));
  page.add("", "",
           {object_facts(bench, {"command", "chains", "device", "threads", "repeats", "seed",
                                 "version", "torch"})});
  Json rows = Json::array(), bars = Json::array();
  for (const char* group : {"stages", "bounds"}) {
    for (const Json& stage : bench.value(group, Json::array())) {
      const Json& ms = stage["milliseconds"];
      rows.push_back({stage["name"], ms["median"], ms["least"], ms["most"]});
      if (group == std::string("stages"))
        bars.push_back({{"label", stage["name"]}, {"value", ms["median"]}});
    }
  }
  page.add("Stages", "Milliseconds a call: the median, and the range over rounds.",
           {charts("", {bar_chart("Milliseconds a call", false, bars)}),
            table("", {{"stage", true}, {"median"}, {"least"}, {"most"}}, rows)});
}

}  // namespace isinglass::report
