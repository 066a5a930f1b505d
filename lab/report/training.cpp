// Writes the section of a page for a training run, from metrics.jsonl and its pictures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "engine/annealing/verdict.h"
#include "io/error.h"
#include "io/files.h"
#include "lab/page/page.h"
#include "lab/run/training_curves.h"
#include "lab/toml.h"
#include "train/metrics.h"

namespace isinglass::report {
namespace {

namespace fs = std::filesystem;

// Returns the title of the loss, which for training without chains depends on the objective.
std::string loss_title(const fs::path& directory) {
  const std::string objective =
      configured_text(directory / "config.toml", "objective").value_or("");
  if (objective == "dsm") return "Loss: denoising score matching";
  if (objective == "nce") return "Loss: data against draws of the base, nats per state";
  return objective == "classify" ? "Loss: cross-entropy, nats per image" : "Loss";
}

constexpr const char* kWeightsBias =
    "Importance weights underestimate log Z on average, and so overstate likelihoods.";

Json curve(const TrainingCurves& curves, const std::string& title,
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

// Returns data.png and up to 6 of the pictures of chains, evenly spaced and including the last one.
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

// Returns the times at which training diverged and was rolled back, from the lines of log.txt: a
// time and a sentence each.
Json divergences(const fs::path& directory) {
  Json rows = Json::array();
  if (!fs::exists(directory / "log.txt")) return rows;
  std::istringstream in(read_file(directory / "log.txt"));
  for (std::string line; std::getline(in, line);) {
    const size_t sentence = line.find("training diverged at iteration");
    if (sentence == std::string::npos || sentence == 0) continue;
    rows.push_back({line.substr(0, sentence - 1), line.substr(sentence)});
  }
  return rows;
}

void add_training(Page& page, const fs::path& directory) {
  const TrainingCurves curves(directory / "metrics.jsonl");
  page.title = "Training";
  const Json& last = curves.last();
  page.add("", "",
           {facts_of(last, {"iteration", "loss", "coupling_rmse", "energy_data", "energy_model",
                            "difference", "acceptance", "hops", "swaps", "learning_rate",
                            "recoveries", "skipped", "validation_score", "validation_weight_ess",
                            "validation_verdict", "seconds"})});
  const bool by_weights = curves.has("validation_standard_error");
  Json list = Json::array();
  const auto add = [&](const std::string& title,
                       std::vector<std::pair<const char*, const char*>> columns) {
    std::erase_if(columns, [&](const auto& column) { return !curves.has(column.first); });
    if (!columns.empty()) list.push_back(curve(curves, title, columns));
  };
  add(loss_title(directory), {{"loss", "loss"}});
  add("Share of the states that are told right", {{"accuracy", "data and draws of the base"}});
  add("Log-ratio of the model and its base, nats",
      {{"log_ratio_data", "data"}, {"log_ratio_noise", "draws of the base"}});
  add("log Z of the model less that of its base", {{"log_z_ratio", "weights of a batch"}});
  add("Share of the states with |f| above half of the bound", {{"near_bound", "share"}});
  add("RMSE of the couplings", {{"coupling_rmse", "RMSE"}});
  add("Mean energy", {{"energy_data", "data"},
                      {"energy_model", "chains"},
                      {"energy_validation", "validation images"}});
  add("Energy of data − chains", {{"difference", "difference"}});
  add("Acceptance", {{"acceptance", "acceptance"}});
  add("Sites changed per step", {{"hops", "hops"}});
  add("Radius, time or step size of the sampler", {{"step_size", "step size"}});
  add("ESS of the weights of chains since they were last drawn, over their number",
      {{"lag_share", "share"}});
  add("Factor of the learning rate", {{"rate_factor", "factor"}});
  add("Probability of swaps", {{"swaps", "swaps"}});
  add("Autocorrelation of the chains' energies, 1000 steps apart",
      {{"autocorrelation", "16 chains"}});
  add("Sites in which two chains differ, over those of two images", {{"spread", "chains"}});
  add("Share of the buffer never visited", {{"never_visited", "share"}});
  add("Norm of the gradient", {{"gradient_norm", "gradient"}});
  add("Learning rate", {{"learning_rate", "rate"}});
  add("Iterations per second", {{"iterations_per_second", "rate"}});
  add("Validation score, nats per image (open)", {{"validation_score", "score"}});
  add("Standard error of log Z in the validation score, nats",
      {{"validation_standard_error", "standard error"}});
  add("Validation score: ESS of the weights", {{"validation_weight_ess", "ESS"}});
  const std::string scores = curves.has("validation_score")
                                 ? fmt::format(" Validation scores are {}. {}",
                                               by_weights ? kWeightsVerdict : kValidationVerdict,
                                               by_weights ? kWeightsBias : kForwardBias)
                                 : "";
  page.add("Curves", "The curves of long runs show means over groups of iterations." + scores,
           {charts("", list)});
  Json diverged = divergences(directory);
  if (!diverged.empty()) {
    page.add("Recoveries",
             "After each recovery, the iterations since a checkpoint were run again; the curves "
             "show only the new ones.",
             {table("", {{"when", true}, {"what", true, true}}, std::move(diverged))});
  }
  const Json images = training_pictures(directory);
  if (!images.empty()) page.add("Images", "", {pictures("", images)});
}

}  // namespace

std::vector<Section> training_sections() {
  return {{"metrics.jsonl", add_training}};
}

}  // namespace isinglass::report
