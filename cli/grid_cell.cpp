// See grid_cell.h.
#include "cli/grid_cell.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "cli/commands.h"
#include "cli/grid_rows.h"
#include "cli/interrupt.h"
#include "cli/sampling.h"
#include "cli/shared_options.h"
#include "engine/diagnostics/autocorrelation.h"
#include "engine/diagnostics/burn_in.h"
#include "engine/diagnostics/mmd.h"
#include "io/error.h"
#include "models/instances.h"
#include "models/rbm.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int64_t kTracePoints = 300, kLags = 200;
constexpr int64_t kMmdDraws = 4;  // states of every chain that enter an MMD

// Mean energy over chains after every step of burn-in; the recorder has the later ones.
class BurnInTrace : public Observer {
 public:
  explicit BurnInTrace(const RunPlan& plan)
      : mean_(torch::empty({plan.burn_in}, torch::kFloat64)) {}
  void on_step(int64_t step, bool burn_in, const ChainState& state) override {
    if (burn_in) mean_[step] = state.current.energy.mean();
  }
  const torch::Tensor& mean() const { return mean_; }

 private:
  torch::Tensor mean_;
};

// Means of the sites' values over the draws: float64 [B, D].
class StateMean : public Observer {
 public:
  void on_draw(int64_t draw, const ChainState& state) override {
    if (draw == 0) sum_ = torch::zeros(state.x.sizes(), state.x.options().dtype(torch::kFloat64));
    sum_ += state.x;
    draws_ = draw + 1;
  }
  // ‖mean − truth‖₂ of every chain, float64 [B].
  torch::Tensor error(double truth) const {
    return (sum_ / static_cast<double>(draws_) - truth).norm(2, {1}).cpu();
  }

 private:
  torch::Tensor sum_;
  int64_t draws_ = 0;
};

// Some states of every chain, from the second half of the run: [B, kMmdDraws, D].
class LateStates : public Observer {
 public:
  explicit LateStates(int64_t draws)
      : draws_(draws), every_(std::max<int64_t>(1, draws / 2 / kMmdDraws)) {}
  void on_draw(int64_t draw, const ChainState& state) override {
    const int64_t left = draws_ - 1 - draw;
    if (left % every_ == 0 && left / every_ < kMmdDraws)
      states_.push_back(state.x.cpu().clone());  // x moves on
  }
  torch::Tensor states() const { return torch::stack(states_, 1); }

 private:
  int64_t draws_, every_;
  std::vector<torch::Tensor> states_;
};

// Every chain's state at steps 1, 2, 4, 8, … of burn-in and run, with the seconds since the start.
class StatesInTime : public Observer {
 public:
  explicit StatesInTime(torch::Device device)
      : device_(device), start_(synchronised_seconds(device)) {}
  void on_step(int64_t, bool, const ChainState& state) override {
    if (++step_ != next_) return;
    next_ *= 2;
    seconds_.push_back(synchronised_seconds(device_) - start_);
    states_.push_back(state.x.cpu().unsqueeze(1).clone());
  }
  // MMD² of the chains to the ground truth against the time.
  Json mmd_json(const torch::Tensor& reference) const {
    Json mmd = Json::array();
    for (const torch::Tensor& x : states_) mmd.push_back(hamming_mmd(x, reference).u_statistic);
    return {{"seconds", seconds_}, {"mmd", mmd}};
  }

 private:
  torch::Device device_;
  double start_;
  int64_t step_ = 0, next_ = 1;
  std::vector<double> seconds_;
  std::vector<torch::Tensor> states_;
};

void put(Json& metrics, const std::string& key, double value, double error = NAN) {
  metrics[key] = value;
  if (find_metric(key, "metrics").has_error) metrics[key + "_se"] = error;
}

// Mean over chains with its standard error.
void put_mean(Json& metrics, const std::string& key, const torch::Tensor& per_chain) {
  const double chains = static_cast<double>(per_chain.numel());
  put(metrics, key, per_chain.mean().item<double>(),
      chains > 1 ? per_chain.std().item<double>() / std::sqrt(chains) : NAN);
}

double number(const Json& value) {
  return value.is_number() ? value.get<double>() : NAN;
}

// What the summary says already.
Json summary_metrics(const Json& summary) {
  Json metrics = Json::object();
  const Json& ess = summary["ess"];
  const double defined = number(summary["chains"]) - number(ess["undefined"]);
  const double relative = number(ess["std"]) / number(ess["mean"]) / std::sqrt(defined);
  for (const char* per : {"per_step", "per_evaluation", "per_second"}) {
    const double value = number(ess[per]);
    put(metrics, fmt::format("ess_{}", per), value, value * relative);
  }
  put(metrics, "bulk_ess", number(ess["bulk"]));
  put(metrics, "tail_ess", number(ess["tail"]));
  for (const char* key : {"rhat", "acceptance", "hops", "energy_evaluations", "seconds"}) {
    put(metrics, key, number(summary[key]));
  }
  return metrics;
}

std::vector<double> numbers(const torch::Tensor& values) {
  const torch::Tensor x = values.to(torch::kCPU, torch::kFloat64).contiguous();
  return {x.data_ptr<double>(), x.data_ptr<double>() + x.numel()};
}

// Mean energies with the steps after which they were, at most kTracePoints of them.
struct Trace {
  torch::Tensor step, energy;
  Json json() const {
    const int64_t stride = std::max<int64_t>(1, step.numel() / kTracePoints);
    return {{"step", numbers(step.slice(0, 0, c10::nullopt, stride))},
            {"energy", numbers(energy.slice(0, 0, c10::nullopt, stride))}};
  }
};

Trace trace_of(const BurnInTrace& burn_in, const Recorder& recorder, const RunPlan& plan) {
  const torch::Tensor kept = recorder.energy().mean(1);
  const torch::Tensor early = torch::arange(1, plan.burn_in + 1, torch::kFloat64);
  const torch::Tensor late = plan.burn_in + static_cast<double>(plan.thin) *
                                                torch::arange(1, kept.numel() + 1, torch::kFloat64);
  return {torch::cat({early, late}), torch::cat({burn_in.mean(), kept})};
}

// ρ_k of the statistic, mean over chains, with the lag in steps.
Json autocorrelation_json(const Recorder& recorder, int64_t thin) {
  const torch::Tensor rho = autocorrelation(recorder.statistic()).nanmean(1);
  const int64_t lags = std::min(kLags, rho.numel());
  return {{"lag", numbers(thin * torch::arange(lags, torch::kFloat64))},
          {"rho", numbers(rho.slice(0, 0, lags))}};
}

Json measured_cell(const Grid& grid, const Cell& cell, GridModels& models, torch::Device device) {
  const GridModels::Target& target = models.target(cell, grid.reference);
  Options options = parse_options(find_command("sample"), arguments_of(cell.sampling));
  options.set("model", target.model->kind_name());
  Sampling sampling(options, device, target.model);
  const RunPlan plan = plan_of(options);
  Recorder recorder = sampling.recorder(false);
  BurnInTrace burn_in(plan);
  StateMean mean;
  LateStates late(plan.steps / plan.thin);
  std::vector<Observer*> observers = {&burn_in};
  if (grid.true_mean) observers.push_back(&mean);
  StatesInTime early(device);
  if (grid.reference) observers.insert(observers.end(), {&late, &early});
  sampling.run(recorder, observers);
  if (interrupted()) throw Interrupted("");
  require(recorder.made() > 0, "the cell has no draws: --steps is below --thin");

  const Json summary = sampling.summary(recorder);
  const Trace trace = trace_of(burn_in, recorder, plan);
  Json metrics = summary_metrics(summary);
  const double entered = burn_in_time(trace.energy.unsqueeze(1));
  put(metrics, "burn_in_time",
      std::isfinite(entered) ? trace.step[static_cast<int64_t>(entered)].item<double>() : NAN);
  const torch::Tensor energy = recorder.energy();
  put_mean(metrics, "final_energy", energy.slice(0, energy.size(0) * 3 / 4).mean(0));
  if (grid.true_mean) put_mean(metrics, "mean_error", mean.error(*grid.true_mean));
  if (grid.reference) {
    const Mmd mmd = hamming_mmd(late.states(), target.reference);
    put(metrics, "mmd", mmd.u_statistic, mmd.standard_error);
    put(metrics, "mmd_v", mmd.v_statistic);
  }
  Json cell_json = {{"status", "done"},
                    {"metrics", metrics},
                    {"summary", summary},
                    {"trace", trace.json()},
                    {"autocorrelation", autocorrelation_json(recorder, plan.thin)}};
  if (grid.reference) cell_json["mmd_trace"] = early.mmd_json(target.reference);
  return cell_json;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// Ground truth by block Gibbs sampling: draws of independent chains, far apart and late.
torch::Tensor block_gibbs_samples(const EnergyModel& model) {
  constexpr int64_t kChains = 100, kSweeps = 2000, kApart = 250;
  const auto* rbm = dynamic_cast<const RbmModel*>(&model);
  require(rbm, "reference block-gibbs needs an rbm; the model is {}", model.kind_name());
  const auto device = rbm->parameters().front().device();
  const torch::Tensor ids =
      torch::arange(kChains, torch::TensorOptions(torch::kInt64).device(device));
  torch::Tensor v = random_states(model.space(), ids, 0, device);
  at::Generator generator = at::globalContext().defaultGenerator(device).clone();
  generator.set_current_seed(0);
  std::vector<torch::Tensor> draws;
  for (int64_t left = kSweeps - 1; left >= 0; --left) {
    v = rbm->gibbs_sweep(v, generator);
    if (left % kApart == 0 && left / kApart < kMmdDraws) draws.push_back(v.cpu());
    if (interrupted()) throw Interrupted("");
  }
  return torch::stack(draws, 1);
}

// FNV-1a: a name that stays the same between runs and builds.
std::string hashed(const std::string& text) {
  uint64_t hash = 14695981039346656037ull;
  for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211ull;
  return fmt::format("{:016x}", hash);
}

}  // namespace

GridModels::GridModels(fs::path cache, torch::Device device)
    : cache_(std::move(cache)), device_(device) {}

fs::path GridModels::trained(const Cell& cell) const {
  std::vector<std::string> arguments = arguments_of(cell.training);
  const std::string settings = fmt::format("{}", fmt::join(arguments, " "));
  const fs::path kept = cache_ / ("model-" + hashed(ISINGLASS_VERSION " " + settings));
  if (fs::exists(kept / "ema.pt")) return kept / "ema.pt";
  const fs::path partial = kept.string() + fmt::format(".{}", getpid());
  arguments.insert(arguments.end(), {"--out=" + partial.string(), "--quiet=true"});
  const Command& train = find_command("train");
  Options options = parse_options(train, arguments);
  train.run(options);
  std::error_code taken;  // another process may have been first
  fs::rename(partial, kept, taken);
  if (taken) fs::remove_all(partial);
  return kept / "ema.pt";
}

const GridModels::Target& GridModels::target(const Cell& cell, bool with_reference) {
  std::vector<std::string> arguments = arguments_of(cell.sampling);
  Options options = parse_options(find_command("sample"), arguments);
  const bool trains = !cell.training.empty();
  if (trains) {
    const auto model = std::find_if(cell.training.begin(), cell.training.end(),
                                    [](const auto& flag) { return flag.first == "model"; });
    options.set("model", model == cell.training.end() ? "resnet" : model->second);
    options.set("weights", trained(cell).string());
  }
  const bool named = options.has("instance");
  const std::string key =
      named ? options.text("instance")
            : fmt::format("{} {} {}", options.text("model"), options.text("weights"),
                          options.has("penalty") ? options.real("penalty") : 0);
  if (key == latest_) return target_;
  latest_.clear();
  target_.model = named ? make_instance(options.text("instance")) : model_of(options, device_);
  target_.model->to(device_);
  target_.reference = with_reference ? block_gibbs_samples(*target_.model) : torch::Tensor();
  latest_ = key;
  return target_;
}

Json run_cell(const Grid& grid, const Cell& cell, GridModels& models, torch::Device device) {
  const auto failed = [](const std::string& error) {
    return Json{{"status", "failed"}, {"error", one_line(error)}, {"metrics", Json::object()}};
  };
  try {
    return measured_cell(grid, cell, models, device);
  } catch (const Interrupted&) {
    throw;
  } catch (const c10::Error& error) {
    return failed(error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return failed("out of memory");
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}

}  // namespace isinglass
