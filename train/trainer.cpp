// The training loop; see trainer.h. Saving and restoring are in trainer_state.cpp.
#include "train/trainer.h"

#include <chrono>
#include <cmath>

#include "io/error.h"
#include "train/objectives/pcd_objective.h"

namespace isinglass {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kSuspectIterations = 100;
constexpr double kLargestRate = 1e6;  // far from float32's overflow inside Adam

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<torch::Tensor> trainable_parameters(const EnergyModel& model) {
  std::vector<torch::Tensor> parameters = model.parameters();
  require(!parameters.empty(), "the model '{}' has no trainable parameters", model.kind_name());
  return parameters;
}

TrainOptions checked(const TrainOptions& o) {
  require(o.iterations >= 1, "iterations is {}; it must be at least 1", o.iterations);
  require(o.learning_rate > 0 && o.learning_rate <= kLargestRate,
          "the learning rate is {}; it must be above 0 and at most {}", o.learning_rate,
          kLargestRate);
  require(o.warmup >= 0, "warmup is {}; it must be 0 or more", o.warmup);
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
      adam_(parameters_),
      ema_(parameters_, options.ema) {}

Trainer::Trainer(std::shared_ptr<EnergyModel> model, const Sampler& sampler, const Dataset& data,
                 const TrainOptions& options, torch::Device device, TrainHooks hooks)
    : Trainer(model,
              std::make_unique<PcdObjective>(*model, sampler, data, options.pcd, options.buffer,
                                             options.iterations, device),
              options, std::move(hooks)) {}

TrainResult Trainer::run() {
  TORCH_INTERNAL_ASSERT(directory_, "start() or resume() comes first");
  sitting_ = Clock::now();
  if (unscored_) {
    const auto score = evaluate();
    if (!score) return {iteration_, true};
    unscored_ = false;
    save();  // the best score is part of the state
    add_score(directory_->file("metrics.jsonl"), *score);
  }
  bool stopped = false;
  while (iteration_ < options_.iterations && !stopped) {
    TrainMetrics metrics = iterate();
    if (evaluation_due()) {
      metrics.validation = evaluate();
      unscored_ = !metrics.validation;
    }
    record(metrics);
    if (iteration_ % options_.checkpoint_every == 0) save();
    stopped = unscored_ || (hooks_.stop && hooks_.stop());
  }
  if (saved_ != iteration_) save();
  return {iteration_, unscored_ || iteration_ < options_.iterations};
}

TrainMetrics Trainer::iterate() try {
  const Clock::time_point start = Clock::now();
  TrainMetrics metrics;
  metrics.iteration = ++iteration_;
  const double warm = options_.warmup > 0 ? double(iteration_) / options_.warmup : 1;
  metrics.learning_rate = options_.learning_rate * std::min(1.0, warm);

  const torch::Tensor loss = objective_->loss(*model_, iteration_, metrics);
  metrics.gradient_norm = descend(loss, metrics.learning_rate);
  ema_.update();
  check_divergence(metrics, loss.item<double>());
  metrics.iterations_per_second = 1 / seconds_since(start);
  return metrics;
} catch (const NumericalError& reason) {
  if (!directory_) throw;
  const std::string message =
      fmt::format("training diverged at iteration {}: {}; the last good checkpoint is {}",
                  iteration_, reason.what(), directory_->checkpoint_file(saved_).string());
  log(message);
  throw NumericalError(message);
}

double Trainer::descend(const torch::Tensor& loss, double learning_rate) {
  model_->zero_grad();
  loss.backward();
  std::vector<torch::Tensor> gradients;
  for (torch::Tensor& p : parameters_) {
    if (!p.grad().defined()) p.mutable_grad() = torch::zeros_like(p);  // a constant in U
    gradients.push_back(p.grad());
  }
  const torch::Tensor norms = torch::stack(at::_foreach_norm(gradients)).to(torch::kFloat64);
  adam_.step(learning_rate);
  return norms.norm().item<double>();
}

void Trainer::check_divergence(const TrainMetrics& metrics, double loss) {
  if (!std::isfinite(loss)) throw NumericalError(fmt::format("the loss is {}", loss));
  std::vector<torch::Tensor> finite;
  for (const torch::Tensor& p : parameters_) finite.push_back(torch::isfinite(p).all());
  if (!torch::stack(finite).all().item<bool>()) {
    throw NumericalError("a parameter is not finite");
  }
  const double bound = static_cast<double>(model_->space().sites);
  suspect_iterations_ = std::abs(metrics.difference) > bound ? suspect_iterations_ + 1 : 0;
  if (suspect_iterations_ >= kSuspectIterations) {
    throw NumericalError(
        fmt::format("the mean energies of data and chains differ by {:.4g}, and by more than {} "
                    "for {} iterations in a row",
                    metrics.difference, bound, suspect_iterations_));
  }
}

bool Trainer::evaluation_due() const {
  return hooks_.validation_score && options_.evaluate_every > 0 &&
         iteration_ % options_.evaluate_every == 0;
}

std::optional<ValidationScore> Trainer::evaluate() {
  const auto score = [&] {
    const Averaged averaged(ema_);
    return hooks_.validation_score(*model_);
  }();
  if (!score) return score;
  const bool comparable = score->warning.empty();
  log(fmt::format("iteration {}: validation score {:.4f}, ESS of the weights {:.1f}{}", iteration_,
                  score->value, score->weight_ess,
                  comparable ? "" : "; it cannot become the best: " + score->warning));
  if (comparable && score->value > best_score_) {
    best_score_ = score->value;
    write_named_tensors(directory_->file("best.pt"), state_dict(ema_.averages()));
  }
  return score;
}

void Trainer::record(TrainMetrics& metrics) {
  metrics.seconds = earlier_seconds_ + seconds_since(sitting_);
  directory_->append_metrics(json_line(metrics));
  if (hooks_.observer) hooks_.observer->on_iteration(metrics);
}

void Trainer::log(const std::string& message) {
  directory_->log(message);
  if (hooks_.observer) hooks_.observer->on_message(message);
}

}  // namespace isinglass
