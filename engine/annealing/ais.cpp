// See ais.h.
#include "engine/annealing/ais.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "io/error.h"
#include "io/settings.h"
#include "kernels/random/philox.h"
#include "models/full_precision.h"
#include "models/identity.h"

namespace isinglass {
namespace {

constexpr int64_t kFormat = 2;  // of checkpoints
constexpr int kResamples = 1000;
constexpr double kSigmoidSlope = 4;
constexpr int64_t kLargestPilot = 1000;
constexpr int64_t kPilotChains = 16;  // at least: their deviations are the schedule

// log mean exp of values[index(0)], values[index(1)], …
template <class Index>
double log_mean_exp(const double* values, int64_t n, Index index) {
  double max = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; ++i) max = std::max(max, values[index(i)]);
  for (int64_t i = 0; i < n; ++i) sum += std::exp(values[index(i)] - max);
  return max + std::log(sum / static_cast<double>(n));
}

std::vector<double> sigmoid_schedule(int64_t n) {
  std::vector<double> beta(n + 1);
  const auto logistic = [](double t) { return 1 / (1 + std::exp(-t)); };
  const double low = logistic(-kSigmoidSlope), high = logistic(kSigmoidSlope);
  for (int64_t k = 0; k <= n; ++k) {
    const double t = kSigmoidSlope * (2 * static_cast<double>(k) / static_cast<double>(n) - 1);
    beta[k] = (logistic(t) - low) / (high - low);
  }
  return beta;
}

// Inverts the cumulative deviation, piecewise linear between the pilot's temperatures.
std::vector<double> equal_deviation_schedule(int64_t n, const std::vector<double>& deviations) {
  const size_t m = deviations.size();
  std::vector<double> cumulative(m + 1, 0.0);
  const double mean =
      std::accumulate(deviations.begin(), deviations.end(), 0.0) / static_cast<double>(m);
  // A tenth of the mean is added everywhere: no interval grows without bound where the pilot saw
  // nothing.
  for (size_t j = 0; j < m; ++j)
    cumulative[j + 1] = cumulative[j] + deviations[j] + 0.1 * mean + 1e-300;
  std::vector<double> beta(n + 1);
  size_t j = 0;
  for (int64_t k = 0; k <= n; ++k) {
    const double target = cumulative[m] * static_cast<double>(k) / static_cast<double>(n);
    while (j + 1 < m && cumulative[j + 1] < target) ++j;
    const double inside = (target - cumulative[j]) / (cumulative[j + 1] - cumulative[j]);
    beta[k] = (static_cast<double>(j) + inside) / static_cast<double>(m);
  }
  return beta;
}

}  // namespace

std::vector<int64_t> decades_below(int64_t n) {
  std::vector<int64_t> decades;
  for (int64_t t = 1000; t < n; t *= 10) decades.push_back(t);
  return decades;
}

std::vector<double> annealing_schedule(Schedule schedule, int64_t temperatures,
                                       const std::vector<double>& deviations) {
  std::vector<double> beta(temperatures + 1);
  if (schedule == Schedule::kSigmoid) {
    beta = sigmoid_schedule(temperatures);
  } else if (schedule == Schedule::kAdaptive && !deviations.empty()) {
    beta = equal_deviation_schedule(temperatures, deviations);
  } else {
    for (int64_t k = 0; k <= temperatures; ++k) {
      beta[k] = static_cast<double>(k) / static_cast<double>(temperatures);
    }
  }
  beta.front() = 0;
  beta.back() = 1;
  return beta;
}

WeightSummary summarise_weights(const torch::Tensor& log_weights, uint64_t seed) {
  const torch::Tensor w = log_weights.to(torch::kCPU, torch::kFloat64).contiguous();
  const double* values = w.data_ptr<double>();
  const int64_t n = w.numel();
  const double log_mean = log_mean_exp(values, n, [](int64_t i) { return i; });
  if (!std::isfinite(log_mean)) return {log_mean, NAN, NAN};
  double sum = 0, sum_of_squares = 0;
  for (int r = 0; r < kResamples; ++r) {
    const Draws draws{seed, static_cast<uint32_t>(r), 0};
    std::vector<uint32_t> chosen(n);
    for (int64_t i = 0; i < n; ++i) {
      chosen[i] =
          draws.below(static_cast<uint32_t>(n), Purpose::kBootstrap, static_cast<uint32_t>(i));
    }
    const double difference =
        log_mean_exp(values, n, [&](int64_t i) { return chosen[i]; }) - log_mean;
    sum += difference;
    sum_of_squares += difference * difference;
  }
  const double mean = sum / kResamples;
  const double deviation = std::sqrt(std::max(0.0, sum_of_squares / kResamples - mean * mean));
  const torch::Tensor scaled = torch::exp(w - w.max());
  const double ess = (scaled.sum().square() / scaled.square().sum()).item<double>();
  return {log_mean, n > 1 ? deviation : NAN, ess};
}

std::string weights_warning(double weight_ess, int64_t chains) {
  if (weight_ess >= kLeastWeightEss) return "";
  return fmt::format(
      "the effective sample size of the weights is {:.1f} of {} chains, below {}: a few chains "
      "carry "
      "the estimate, log Z may be far too low and likelihoods far too high; anneal with more "
      "temperatures or chains",
      weight_ess, chains, kLeastWeightEss);
}

AnnealedImportanceSampling::AnnealedImportanceSampling(EnergyModel& model, const Sampler& sampler,
                                                       const Factorised& start,
                                                       const AisOptions& options,
                                                       torch::Device device, const Ranks& ranks)
    : target_(model),
      model_(model, &start, device),
      sampler_(sampler),
      start_(start),
      options_(options),
      device_(device),
      ranks_(ranks) {
  require_option(options.chains >= 1, "chains", options.chains, "at least 1 is needed");
  require_option(options.temperatures >= 1, "steps", options.temperatures,
                 "at least 1 temperature is needed");
  // The estimate has chains 0 … chains − 1; the others have chains of their own behind them.
  int64_t first = options.chains;
  const auto add = [&](int64_t temperatures, int64_t chains, bool pilot) {
    legs_.push_back({temperatures, first, chains, pilot});
    first += chains;
  };
  if (options.schedule == Schedule::kAdaptive) {
    add(std::clamp<int64_t>(options.temperatures / 20, 20, kLargestPilot),
        std::max(options.chains, kPilotChains), true);
  }
  for (const int64_t temperatures : options.curve) add(temperatures, options.chains, false);
  legs_.push_back({options.temperatures, 0, options.chains, false});
}

int64_t AnnealedImportanceSampling::steps_total() const {
  int64_t total = 0;
  for (const Leg& leg : legs_) total += leg.temperatures;
  return total;
}

torch::Tensor AnnealedImportanceSampling::leg_chain_ids() const {
  const Leg& leg = legs_[leg_];
  return torch::arange(leg.first_chain, leg.first_chain + leg.chains,
                       torch::TensorOptions(torch::kInt64).device(device_));
}

// A leg starts at samples of the start, a resumed one where it stood.
void AnnealedImportanceSampling::begin_leg() {
  const Leg& leg = legs_[leg_];
  betas_ = annealing_schedule(leg.pilot ? Schedule::kLinear : options_.schedule, leg.temperatures,
                              deviations_);
  params_ = sampler_.params(key(), device_, k_);
  const bool resumed = resumed_.defined();
  const torch::Tensor ids = leg_chain_ids();
  state_ = sampler_.init(model_, resumed ? resumed_ : start_.sample(ids, key()), ids);
  if (resumed) {
    state_.statistics.acceptance_sum.copy_(acceptance_sum_);
    resumed_ = acceptance_sum_ = torch::Tensor();
  } else {
    log_weights_ = torch::zeros_like(state_.current.energy);
    evaluations_ += sampler_.needs() == Needs::kDifferences ? model_.difference_calls() : 1;
  }
  stepper_.emplace(model_, sampler_, state_, params_, options_.cuda_graph,
                   static_cast<Transition*>(this), k_);
  model_.set_beta(betas_[k_]);
  model_.recombine(state_.current);
  begun_ = true;
}

int64_t AnnealedImportanceSampling::before_step(int64_t t, const Sampler&, ChainState& state,
                                                StepParams&) {
  const torch::Tensor slope = model_.slope(state.current);
  if (legs_[leg_].pilot) deviations_.push_back(ranks_.gather(slope).std().item<double>());
  log_weights_.add_(slope, betas_[t + 1] - betas_[t]);
  model_.set_beta(betas_[t + 1]);
  model_.recombine(state.current);
  return 1;
}

void AnnealedImportanceSampling::step_leg() {
  stepper_->advance(1);
  evaluations_ += stepper_->take_evaluations();
  ++k_;
  ++steps_done_;
}

void AnnealedImportanceSampling::finish_leg(AisResult& result) {
  if (!legs_[leg_].pilot) {
    const WeightSummary summary = summarise_weights(ranks_.gather(log_weights_), key());
    if (!std::isfinite(summary.log_mean)) {
      throw NumericalError(
          "the annealed weights are not finite: the energy has a value that is not");
    }
    result.log_z = start_.log_z() + summary.log_mean;
    result.log_z_se = summary.standard_error;
    result.weight_ess = summary.ess;
    curve_.push_back({legs_[leg_].temperatures, result.log_z});
  }
  const double steps = static_cast<double>(k_);
  result.acceptance = ranks_.mean(state_.statistics.acceptance_sum).item<double>() / steps;
  result.x = state_.x;
  result.log_weights = log_weights_;
  ++leg_;
  k_ = 0;
  begun_ = false;
}

AisResult AnnealedImportanceSampling::run(const std::function<void()>& on_step,
                                          const std::function<bool()>& stop) {
  torch::NoGradGuard no_grad;
  const FullPrecision full;
  AisResult result;
  while (leg_ < legs_.size()) {
    if (!begun_) begin_leg();
    while (k_ < legs_[leg_].temperatures) {
      if (stop && stop()) return result;
      step_leg();
      if (on_step) on_step();
    }
    finish_leg(result);
  }
  result.curve = curve_;
  result.energy_evaluations = evaluations_;
  result.finished = true;
  return result;
}

void AnnealedImportanceSampling::step() {
  torch::NoGradGuard no_grad;
  const FullPrecision full;
  if (!begun_) begin_leg();
  TORCH_INTERNAL_ASSERT(k_ < legs_[leg_].temperatures, "the present run is at its end");
  step_leg();
}

PtDict AnnealedImportanceSampling::settings() const {
  return {{"chains", {options_.chains}},
          {"temperatures", {options_.temperatures}},
          {"schedule", {static_cast<int64_t>(options_.schedule)}},
          {"seed", {static_cast<int64_t>(options_.seed)}},
          {"model", {target_.kind_name()}},
          {"parameters_sha256", {parameters_sha256(target_)}},
          {"start_sha256", {parameters_sha256(start_.model())}},
          {"sampler", {sampler_.name()}},
          {"sampler_options", {settings_text(sampler_.settings())}}};
}

PtDict AnnealedImportanceSampling::checkpoint() const {
  PtDict dict;
  const auto add = [&dict](const char* key, auto value) { dict.push_back({key, PtValue{value}}); };
  add("format", kFormat);
  add("settings", settings());
  add("leg", static_cast<int64_t>(leg_));
  add("k", k_);
  add("steps_done", steps_done_);
  add("evaluations", evaluations_);
  add("deviations", torch::tensor(deviations_, torch::kFloat64));
  std::vector<double> curve;
  for (const CurvePoint& point : curve_) curve.push_back(point.log_z);
  add("curve", torch::tensor(curve, torch::kFloat64));
  add("x", state_.x.to(torch::kCPU));
  add("log_weights", log_weights_.to(torch::kCPU));
  add("acceptance_sum", state_.statistics.acceptance_sum.to(torch::kCPU));
  return dict;
}

void AnnealedImportanceSampling::restore(const PtDict& checkpoint) {
  const auto find = [&](const char* key) -> const PtValue& {
    for (const auto& [name, value] : checkpoint) {
      if (name == key) return value;
    }
    fail("the annealing checkpoint has no entry '{}'", key);
  };
  const auto integer = [&](const char* key) {
    const auto* value = std::get_if<int64_t>(&find(key).value);
    require(value, "the annealing checkpoint's entry '{}' is not a whole number", key);
    return *value;
  };
  const auto tensor = [&](const char* key) {
    require(find(key).is_tensor(), "the annealing checkpoint's entry '{}' is not a tensor", key);
    return std::get<torch::Tensor>(find(key).value);
  };
  require(integer("format") == kFormat,
          "the annealing checkpoint has format {}, of another version of the program, and this one "
          "reads format {}: anneal anew, or go on with the program that wrote it",
          integer("format"), kFormat);
  const auto* saved = std::get_if<PtDict>(&find("settings").value);
  require(saved, "the annealing checkpoint's entry 'settings' is not a dictionary");
  require_same_settings(*saved, settings(), "the annealing checkpoint");
  leg_ = static_cast<size_t>(integer("leg"));
  k_ = integer("k");
  require(leg_ < legs_.size() && k_ >= 0 && k_ <= legs_[leg_].temperatures,
          "the annealing checkpoint stands outside this run");
  steps_done_ = integer("steps_done");
  evaluations_ = integer("evaluations");
  const auto numbers = [](const torch::Tensor& t) {
    const torch::Tensor flat = t.to(torch::kFloat64).contiguous().view(-1);
    return std::vector<double>(flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
  };
  deviations_ = numbers(tensor("deviations"));
  curve_.clear();
  for (const double log_z : numbers(tensor("curve"))) {
    require(curve_.size() < options_.curve.size(), "the annealing checkpoint has a longer curve");
    curve_.push_back({options_.curve[curve_.size()], log_z});
  }
  const torch::Tensor x = tensor("x");
  check_states(model_.space(), x, "the annealing checkpoint's states");
  log_weights_ = tensor("log_weights").to(device_, torch::kFloat64).clone();
  acceptance_sum_ = tensor("acceptance_sum").to(device_, torch::kFloat64).clone();
  const int64_t chains = legs_[leg_].chains;
  require(
      x.size(0) == chains && log_weights_.numel() == chains && acceptance_sum_.numel() == chains,
      "the annealing checkpoint does not hold {} chains", chains);
  resumed_ = x.to(device_);
  begun_ = false;
}

}  // namespace isinglass
