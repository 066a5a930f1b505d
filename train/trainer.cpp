// Implements the training loop. trainer_state.cpp implements saving and restoring.
#include "train/trainer.h"

#include <chrono>
#include <cmath>
#include <unordered_map>

#include "engine/sampler.h"
#include "io/error.h"
#include "models/full_precision.h"
#include "models/live_state.h"

namespace isinglass {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLargestRate = 1e6;  // far from float32's overflow inside Adam

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<torch::Tensor> trainable_parameters(const EnergyModel& model) {
  std::vector<torch::Tensor> parameters;
  for (const auto& [name, tensor] : distinct_parameters(model)) parameters.push_back(tensor);
  require(!parameters.empty(), "the model '{}' has no trainable parameters", model.kind_name());
  return parameters;
}

// Throws Error if a parameter of the model is no longer the tensor that is trained, or is no longer
// trained. An observer may have replaced or frozen it.
void require_same_parameters(const EnergyModel& model) {
  if (!dynamic_cast<const HasLiveState*>(&model)) return;
  std::unordered_map<std::string, torch::Tensor> live;
  for (const auto& [name, tensor] : state_of(model)) live.emplace(name, tensor);
  for (const auto& [name, tensor] : distinct_parameters(model)) {
    const auto now = live.find(name);
    require(now != live.end() && now->second.is_same(tensor),
            "the parameter '{}' of {} is no longer the tensor with which training began; change it "
            "in place, or start a new training run",
            name, model.title());
    require(tensor.requires_grad(),
            "the parameter '{}' of {} no longer requires a gradient; parameters are frozen before "
            "training starts, or in a new training run from the weights of this one",
            name, model.title());
  }
}

TrainOptions checked(const TrainOptions& o) {
  require(o.iterations >= 1, "iterations is {}; it must be at least 1", o.iterations);
  require(o.learning_rate > 0 && o.learning_rate <= kLargestRate,
          "the learning rate is {}; it must be above 0 and at most {}", o.learning_rate,
          kLargestRate);
  require(o.warmup >= 0, "warmup is {}; it must be 0 or more", o.warmup);
  require(o.end_rate >= 0 && o.end_rate <= o.learning_rate,
          "the last learning rate is {}; it must be at least 0 and at most the first one, {}",
          o.end_rate, o.learning_rate);
  require(std::isfinite(o.clip) && o.clip >= 0, "clip is {}; it must be 0 or more", o.clip);
  require(
      std::isfinite(o.weight_decay) && o.weight_decay >= 0 && o.weight_decay * o.learning_rate < 1,
      "weight-decay is {}; it must be 0 or more, and below 1 / lr", o.weight_decay);
  require(o.beta1 >= 0 && o.beta1 < 1, "beta1 is {}; it must be in [0, 1)", o.beta1);
  require(o.recover >= 0, "recover is {}; it must be 0 or more", o.recover);
  require(o.ema >= 0 && o.ema < 1, "the decay of the average is {}; it must be in [0, 1)", o.ema);
  require(o.checkpoint_every >= 1, "checkpoint-every is {}; it must be at least 1",
          o.checkpoint_every);
  require(o.evaluate_every >= 0, "evaluate-every is {}; it must be 0 or more", o.evaluate_every);
  return o;
}

}  // namespace

Trainer::Trainer(std::shared_ptr<EnergyModel> model, std::unique_ptr<Objective> objective,
                 const TrainOptions& options, TrainHooks hooks)
    : model_(std::move(model)),
      objective_(std::move(objective)),
      options_(checked(options)),
      hooks_(std::move(hooks)),
      parameters_(trainable_parameters(*model_)),
      adam_(parameters_, options.weight_decay, options.beta1),
      ema_(parameters_, options.ema),
      descent_("an iteration", objective_->capturable(*model_)),
      to_stop_(
          torch::zeros({}, parameters_[0].options().dtype(torch::kFloat64).requires_grad(false))),
      divergence_(model_->space().sites) {}

TrainResult Trainer::run() {
  TORCH_INTERNAL_ASSERT(directory_, "start() or resume() must be called first");
  sitting_ = Clock::now();
  if (evaluation_pending_) {
    try {
      const auto score = evaluate();
      if (!score) return result(/*interrupted=*/true);
      evaluation_pending_ = false;
      save();  // the best score is part of the state
      notify([&](TrainObserver& observer) { observer.on_score(*score); });
    } catch (const NumericalError& reason) {
      evaluation_pending_ = false;
      recover(reason.what());
    }
  }
  stopped_ = false;
  while (iteration_ < options_.iterations && !evaluation_pending_ && !stopped_) {
    Metrics metrics;
    std::optional<ValidationScore> score;
    try {
      metrics = iterate();
      if (!why_skipped_.empty()) {
        log(fmt::format("iteration {}: {}; it made no update", iteration_, why_skipped_));
      }
      warn_of_chains(metrics);
      if (evaluation_due()) score = evaluate();
    } catch (const NumericalError& reason) {
      recover(reason.what());
      continue;
    }
    evaluation_pending_ = evaluation_due() && !score;
    metrics.add("seconds", earlier_seconds_ + seconds_since(sitting_));
    if (!recoveries_.empty()) metrics.add("recoveries", static_cast<double>(recoveries_.size()));
    if (score) add_score(metrics, *score);
    notify([&](TrainObserver& observer) { observer.on_iteration(metrics); });
    // A single process asks after its observers, which may want to stop.
    if (ranks().size() == 1) stopped_ = to_stop();
    if (iteration_ % options_.checkpoint_every == 0) save();
  }
  if (saved_ != iteration_) save();
  const std::string warning = divergence_.at_end();
  if (!warning.empty()) warn(fmt::format("iteration {}: {}", iteration_, warning));
  return result(evaluation_pending_ || iteration_ < options_.iterations);
}

TrainResult Trainer::result(bool interrupted) const {
  return {iteration_, interrupted, std::ssize(recoveries_), skipped_};
}

Metrics Trainer::iterate() {
  const FullPrecision full;
  const Clock::time_point start = Clock::now();
  require_same_parameters(*model_);
  ++iteration_;
  adam_.set_learning_rate(learning_rate());  // also checks the layout of the parameters
  Batch batch = objective_->draw(*model_, iteration_);
  if (ranks().size() > 1) to_stop_.fill_(to_stop() ? 1.0 : 0.0);
  descent_.run(parameters_[0].device(), [&] { descend(batch); });
  adam_.count_writes();
  const auto of_batch = std::move(batch.metrics);
  objective_->keep(std::move(batch));

  // The rest is diagnostics.
  const torch::Tensor read = numbers_.cpu();
  const double *state = read.const_data_ptr<double>(), *scalar = state + 3;
  stopped_ |= scalar[0] > 0;  // a stop flag of any rank stops all
  if (state[0] == 0) throw NumericalError("a parameter is not finite");
  why_skipped_.clear();
  state[2] > 0 ? note_skipped(scalar[1], state[1]) : divergence_.updated();
  Metrics metrics{.iteration = iteration_};
  for (size_t i = 0; i < names_.size(); ++i) metrics.add(names_[i], scalar[2 + i]);
  for (const auto& [name, value] : of_batch) metrics.add(name, value);
  metrics.add("gradient_norm", state[1]);
  metrics.add("learning_rate", learning_rate());
  objective_->follow(metrics);
  if (skipped_ > 0) metrics.add("skipped", static_cast<double>(skipped_));
  const auto difference = metrics.find("difference");
  if (difference && why_skipped_.empty()) {
    divergence_.check(*difference, metrics.find("acceptance"));
  }
  const auto loss = metrics.find("loss");
  if (loss && why_skipped_.empty()) divergence_.add_loss(*loss);
  metrics.add("iterations_per_second", 1 / seconds_since(start));
  return metrics;
}

void Trainer::note_skipped(double loss, double norm) {
  ++skipped_;
  const double value = std::isfinite(loss) ? norm : loss;
  why_skipped_ =
      fmt::format("{} is {}", std::isfinite(loss) ? "the norm of the gradient" : "the loss",
                  std::isnan(value) ? "nan" : fmt::format("{}", value));
  divergence_.skipped(why_skipped_);
}

double Trainer::learning_rate() const {
  const LearningRate rate{.peak = options_.learning_rate,
                          .end = options_.end_rate,
                          .warmup = options_.warmup,
                          .schedule = options_.schedule,
                          .from = planned_from_,
                          .to = options_.iterations};
  return planned_rate(rate);
}

double Trainer::planned_rate(const LearningRate& plan) const {
  return objective_->rate_factor() *
         std::ldexp(plan.at(iteration_), -static_cast<int>(recoveries_.size()));
}

void Trainer::descend(const Batch& batch) {
  const Loss loss = objective_->loss(*model_, batch);
  energies_ = loss.energies;
  names_.clear();
  std::vector<torch::Tensor> own = {to_stop_, loss.value.detach()};
  for (const auto& [name, value] : loss.metrics) {
    names_.push_back(name);
    own.push_back(value.detach());
  }
  torch::Tensor scalars = torch::stack(own);
  model_->zero_grad();
  loss.value.backward();
  std::vector<torch::Tensor> gradients;
  for (torch::Tensor& p : parameters_) {
    if (!p.grad().defined()) p.mutable_grad() = torch::zeros_like(p);  // U does not depend on it
    require(p.grad().layout() == torch::kStrided,
            "the gradient of a parameter of {} is sparse; training needs dense ones",
            model_->title());
    gradients.push_back(p.grad());
  }
  if (ranks().size() > 1) add_up(gradients, scalars);
  torch::Tensor norm, skip, held;
  objective_->update([&] {
    norm = torch::stack(at::_foreach_norm(gradients)).to(torch::kFloat64).norm();
    // The step is also skipped if the norm exceeds float32's range: the square of such a gradient
    // would make Adam's second moment infinite for good.
    skip = torch::isfinite(norm + scalars[1]).logical_not().to(torch::kFloat32);
    if (options_.clip > 0) {
      torch::NoGradGuard no_grad;
      at::_foreach_mul_(gradients, (options_.clip / norm).clamp_max(1).to(torch::kFloat32));
    }
    held = batch.pause.defined() ? torch::maximum(skip, batch.pause) : skip;
    adam_.step(held);
    return held;
  });
  ema_.update(held);
  numbers_ =
      torch::cat({torch::stack({parameters_finite(), norm, skip.to(torch::kFloat64)}), scalars});
}

void Trainer::add_up(std::vector<torch::Tensor>& gradients, torch::Tensor& scalars) const {
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& g : gradients) parts.push_back(g.flatten().to(torch::kFloat64));
  parts.push_back(scalars);
  const torch::Tensor total = ranks().sum(torch::cat(parts));
  int64_t first = 0;
  for (torch::Tensor& g : gradients) {
    g.copy_(total.narrow(0, first, g.numel()).view_as(g));
    first += g.numel();
  }
  scalars = total.narrow(0, first, scalars.numel());
}

// The norm is used because CPUs have vector instructions for it. Parameters whose norm exceeds
// float32's range have diverged as well.
torch::Tensor Trainer::parameters_finite() const {
  torch::NoGradGuard no_grad;
  const torch::Tensor norms = torch::stack(at::_foreach_norm(parameters_));
  return torch::isfinite(norms).all().to(torch::kFloat64);
}

bool Trainer::evaluation_due() const {
  return hooks_.validation_score && options_.evaluate_every > 0 &&
         iteration_ % options_.evaluate_every == 0;
}

// Non-finite energies count as a divergence, like those of an iteration.
std::optional<ValidationScore> Trainer::evaluate() {
  const auto score = [&] {
    try {
      const Averaged averaged(ema_);
      return hooks_.validation_score(*model_);
    } catch (const NonFinite& reason) {
      throw NumericalError(reason.what());
    }
  }();
  if (!score) return score;
  const bool comparable = score->warning.empty();
  const std::string beside = !comparable ? "; it cannot become the best: " + score->warning
                             : score->value < best_score_
                                 ? fmt::format("; the best was {:.4f}", best_score_)
                                 : "";
  log(fmt::format("iteration {}: validation score {:.4f} ({}), ESS of the weights {:.1f}{}",
                  iteration_, score->value, score->verdict(), score->weight_ess, beside));
  if (comparable && score->value > best_score_) {
    best_score_ = score->value;
    if (!ranks().is_rank0()) return score;
    write_named_tensors(directory_->file("best.pt"), state_dict(ema_.rounded()));
  }
  return score;
}

void Trainer::warn_of_chains(const Metrics& metrics) {
  for (const auto& [name, check] :
       {std::pair{"autocorrelation", &Divergence::check_autocorrelation},
        std::pair{"spread", &Divergence::check_spread}}) {
    const std::optional<double> value = metrics.find(name);
    const std::string warning = value ? (divergence_.*check)(*value) : "";
    if (!warning.empty()) warn(fmt::format("iteration {}: {}", iteration_, warning));
  }
}

void Trainer::notify(const std::function<void(TrainObserver&)>& event) {
  if (metrics_file_) event(*metrics_file_);
  if (hooks_.observer) event(*hooks_.observer);
}

void Trainer::warn(const std::string& message) {
  log(message);
  notify([&](TrainObserver& observer) { observer.on_warning(message); });
}

void Trainer::log(const std::string& message) {
  if (ranks().is_rank0()) directory_->log(message);
  notify([&](TrainObserver& observer) { observer.on_message(message); });
}

}  // namespace isinglass
