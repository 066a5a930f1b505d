// Implements the checkpoints of annealed importance sampling.
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/annealing/ais.h"
#include "io/error.h"
#include "io/numbers.h"
#include "io/pt/entries.h"
#include "io/settings.h"
#include "models/identity.h"

namespace isinglass {
namespace {

constexpr int64_t kFormat = 3;
constexpr const char* kWhat = "the annealing checkpoint";

// Lists settings that older checkpoints lack; they are compared only with checkpoints that have
// them.
constexpr const char* kSince[] = {"curve", "states_sha256"};

PtDict known_to(const PtDict& saved, PtDict own) {
  const auto has = [&](const std::string& name) {
    return std::any_of(saved.begin(), saved.end(),
                       [&](const auto& entry) { return entry.first == name; });
  };
  std::erase_if(own, [&](const auto& entry) {
    return std::find(std::begin(kSince), std::end(kSince), entry.first) != std::end(kSince) &&
           !has(entry.first);
  });
  return own;
}

torch::Tensor tensor_of(const std::vector<double>& values) {
  return torch::tensor(values, torch::kFloat64);
}

}  // namespace

PtDict AnnealedImportanceSampling::settings() const {
  PtDict settings = {{"chains", {options_.chains}},
                     {"temperatures", {options_.temperatures}},
                     {"schedule", {static_cast<int64_t>(options_.schedule)}},
                     {"path", {static_cast<int64_t>(options_.path)}},
                     {"seed", {static_cast<int64_t>(options_.seed)}},
                     {"first_chain", {options_.first_chain}},
                     {"curve", {fmt::format("{}", fmt::join(options_.curve, ", "))}},
                     {"model", {target_.kind_name()}},
                     {"parameters_sha256", {parameters_sha256(target_)}},
                     {"start_sha256", {start_.sha256()}},
                     {"sampler", {sampler_.name()}},
                     {"sampler_options", {settings_text(sampler_.settings())}}};
  if (options_.reverse) {
    const ReverseStart& from = *options_.reverse;
    settings.push_back({"reverse", {from.longest > 0 ? "from long chains" : "from states"}});
    settings.push_back({"longest", {from.longest}});
    settings.push_back({"states_sha256", {states_sha256_.empty() ? "none" : states_sha256_}});
  }
  return settings;
}

PtDict AnnealedImportanceSampling::checkpoint() const {
  PtDict dict;
  put(dict, "format", kFormat);
  put(dict, "settings", settings());
  if (!own_functions(target_).empty()) {
    put(dict, "functions", function_identity(target_, device_));
  }
  put(dict, "leg", static_cast<int64_t>(run_index_));
  put(dict, "k", k_);
  put(dict, "steps_done", steps_done_);
  put(dict, "settled", converged_);
  put(dict, "evaluations", result_.energy_evaluations);
  put(dict, "pilot_beta", tensor_of(pilot_.beta));
  put(dict, "pilot_variance", tensor_of(pilot_.variance));
  std::vector<double> curve;
  for (const CurvePoint& point : result_.curve) curve.push_back(point.log_z);
  put(dict, "curve", tensor_of(curve));
  const auto all = [&](const torch::Tensor& rows) { return ranks_.gather(rows).to(torch::kCPU); };
  put(dict, "x", all(state_.x));
  PtList cache(state_.current.cache.size());
  for (size_t i = 0; i < cache.size(); ++i) cache[i].value = all(state_.current.cache[i]);
  put(dict, "cache", cache);
  if (state_.workspace.cache.defined()) put(dict, "kept", all(state_.workspace.cache));
  put(dict, "log_weights", all(log_weights_));
  put(dict, "acceptance_sum", all(state_.statistics.acceptance_sum));
  if (result_.x.defined()) {  // the forward chains have finished
    put(dict, "forward",
        PtDict{{"x", {result_.x.to(torch::kCPU)}},
               {"log_weights", {result_.log_weights.to(torch::kCPU)}},
               {"acceptance", {result_.acceptance}},
               {"log_z_se", {result_.log_z_se}},
               {"weight_ess", {result_.weight_ess}}});
  }
  if (watch_.steps() > 0) put(dict, "equilibrium", watch_.saved(ranks_));
  return dict;
}

void AnnealedImportanceSampling::restore(const PtDict& checkpoint) {
  const PtEntries entries(checkpoint, kWhat);
  require_format(entries.integer("format"), kFormat, kWhat, "start a new annealing run");
  const PtDict& saved_settings = entries.dict("settings");
  require_same_settings(saved_settings, known_to(saved_settings, settings()), kWhat);
  require_same_functions(entries.find<PtDict>("functions"), target_, device_, kWhat);
  run_index_ = static_cast<size_t>(entries.integer("leg"));
  k_ = entries.integer("k");
  require(run_index_ < runs_.size() && k_ >= 0 && k_ <= current_run().temperatures,
          "{} is at a step that this run does not have", kWhat);
  steps_done_ = entries.integer("steps_done");
  converged_ = entries.flag("settled");
  result_ = {};
  result_.energy_evaluations = entries.integer("evaluations");
  pilot_ = {numbers(entries.tensor("pilot_beta")), numbers(entries.tensor("pilot_variance"))};
  std::vector<int64_t> points = options_.curve;
  points.push_back(options_.temperatures);
  for (const double log_z : numbers(entries.tensor("curve"))) {
    require(result_.curve.size() < points.size(), "{} has a longer curve than this run", kWhat);
    result_.curve.push_back({points[result_.curve.size()], log_z});
  }
  const auto states = [&](const torch::Tensor& x, int64_t chains) {
    check_states(path_->model().space(), x, std::string(kWhat) + "'s states");
    require(x.size(0) == chains, "{} does not hold {} chains", kWhat, chains);
    return x.to(device_);
  };
  const auto of_chains = [&](const torch::Tensor& values, int64_t chains) {
    require(values.numel() == chains, "{} does not hold {} chains", kWhat, chains);
    return values.to(device_, torch::kFloat64).clone();
  };
  if (const PtDict* saved = entries.find<PtDict>("forward")) {
    const PtEntries forward(*saved, kWhat);
    require(!result_.curve.empty(), "{} has no curve", kWhat);
    result_.x = states(forward.tensor("x"), options_.chains);
    result_.log_weights = of_chains(forward.tensor("log_weights"), options_.chains);
    result_.acceptance = forward.real("acceptance");
    result_.log_z = result_.curve.back().log_z;
    result_.log_z_se = forward.real("log_z_se");
    result_.weight_ess = forward.real("weight_ess");
  }
  require(result_.x.defined() ==
              (current_run().part == Part::kEquilibrium || current_run().part == Part::kReverse),
          "{} does not hold the results of its forward chains", kWhat);
  if (const PtDict* saved = entries.find<PtDict>("equilibrium"))
    watch_.restore(*saved, ranks_.shard(options_.chains), device_);
  const Shard own = own_chains();
  resumed_ = own.of(states(entries.tensor("x"), current_run().chains)).contiguous();
  const PtList* cache = entries.find<PtList>("cache");
  require(cache, "{} has no entry 'cache' that is a list", kWhat);
  state_.current.cache.clear();
  for (const PtValue& kept : *cache) {
    require(kept.is_tensor(), "{} has an entry 'cache' with values that are not tensors", kWhat);
    const torch::Tensor rows = std::get<torch::Tensor>(kept.value);
    require(rows.dim() > 0 && rows.size(0) == current_run().chains, "{} does not hold {} chains",
            kWhat, current_run().chains);
    state_.current.cache.push_back(own.of(rows));
  }
  if (const torch::Tensor* kept = entries.find<torch::Tensor>("kept")) {
    require(kept->dim() > 0 && kept->size(0) == current_run().chains, "{} does not hold {} chains",
            kWhat, current_run().chains);
    state_.workspace.cache = own.of(*kept);
  }
  log_weights_ = own.of(of_chains(entries.tensor("log_weights"), current_run().chains)).clone();
  acceptance_sum_ =
      own.of(of_chains(entries.tensor("acceptance_sum"), current_run().chains)).clone();
  begun_ = false;
}

}  // namespace isinglass
