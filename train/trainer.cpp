// The training loop; see trainer.h. Saving and restoring are in trainer_state.cpp.
#include "train/trainer.h"

#include <chrono>
#include <cmath>

#include "io/error.h"

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

void check_fit(const EnergyModel& model, const Dataset& data) {
  const StateSpace space = model.space();
  require(space.kind == StateKind::kBinary, "training needs a model of binary states; '{}' is not",
          model.kind_name());
  require(data.train.dim() == 2 && data.train.size(0) > 0,
          "the data set '{}' has no training images", data.name);
  require(data.train.size(1) == space.sites,
          "the model has {} sites; the images of '{}' have {} pixels", space.sites, data.name,
          data.train.size(1));
}

TrainOptions checked(const TrainOptions& o, const EnergyModel& model, const Dataset& data) {
  const PcdOptions& pcd = o.pcd;
  constexpr double kCounters = 4294967296.0;  // step numbers are one 32-bit word
  require(pcd.batch >= 1, "batch is {}; it must be at least 1", pcd.batch);
  require(o.buffer >= pcd.batch, "buffer is {}; it must hold at least one batch, {}", o.buffer,
          pcd.batch);
  require(pcd.steps >= 1, "steps an iteration is {}; it must be at least 1", pcd.steps);
  require(o.iterations >= 1 && static_cast<double>(o.iterations) * pcd.steps < kCounters,
          "iterations is {}; it must be at least 1, and iterations times steps below 2^32",
          o.iterations);
  require(pcd.reinit >= 0 && pcd.reinit <= 1, "reinit is {}; it is a probability", pcd.reinit);
  require(std::isfinite(pcd.l2) && pcd.l2 >= 0, "l2 is {}; it must be 0 or more", pcd.l2);
  require(std::isfinite(pcd.p_control) && pcd.p_control >= 0,
          "p-control is {}; it must be 0 or more", pcd.p_control);
  require(o.learning_rate > 0 && o.learning_rate <= kLargestRate,
          "the learning rate is {}; it must be above 0 and at most {}", o.learning_rate,
          kLargestRate);
  require(o.warmup >= 0, "warmup is {}; it must be 0 or more", o.warmup);
  require(o.ema >= 0 && o.ema < 1, "the decay of the average is {}; it must be in [0, 1)", o.ema);
  require(o.checkpoint_every >= 1, "checkpoint-every is {}; it must be at least 1",
          o.checkpoint_every);
  require(o.evaluate_every >= 0, "evaluate-every is {}; it must be 0 or more", o.evaluate_every);
  check_fit(model, data);
  return o;
}

}  // namespace

Trainer::Trainer(std::shared_ptr<EnergyModel> model, const Sampler& sampler, const Dataset& data,
                 const TrainOptions& options, torch::Device device, TrainHooks hooks)
    : model_(std::move(model)),
      sampler_(sampler),
      options_(checked(options, *model_, data)),
      hooks_(std::move(hooks)),
      height_(data.height),
      width_(data.width),
      batches_(data, options.pcd.batch, options.pcd.seed, device),
      buffer_(clamped_mean(data).to(device), options.buffer, options.pcd.seed),
      parameters_(trainable_parameters(*model_)),
      adam_(parameters_),
      ema_(parameters_, options.ema) {}

TrainResult Trainer::run() {
  TORCH_INTERNAL_ASSERT(directory_, "start() or resume() comes first");
  bool stopped = false;
  while (iteration_ < options_.iterations && !stopped) {
    TrainMetrics metrics = iterate();
    if (options_.evaluate_every > 0 && iteration_ % options_.evaluate_every == 0) evaluate(metrics);
    record(metrics);
    if (iteration_ % options_.checkpoint_every == 0) save();
    stopped = hooks_.stop && hooks_.stop();
  }
  if (saved_ != iteration_) save();
  return {iteration_, iteration_ < options_.iterations};
}

TrainMetrics Trainer::iterate() try {
  const Clock::time_point start = Clock::now();
  TrainMetrics metrics;
  metrics.iteration = ++iteration_;
  const double warm = options_.warmup > 0 ? double(iteration_) / options_.warmup : 1;
  metrics.learning_rate = options_.learning_rate * std::min(1.0, warm);

  const torch::Tensor data = batches_.states(iteration_);
  const PcdChains chains = advance_chains(*model_, sampler_, buffer_, iteration_, options_.pcd);
  const PcdLoss loss = pcd_loss(*model_, data, chains.states, options_.pcd);
  metrics.gradient_norm = descend(loss.loss, metrics.learning_rate);
  ema_.update();

  metrics.energy_data = loss.energy_data.item<double>();
  metrics.energy_model = loss.energy_model.item<double>();
  metrics.difference = metrics.energy_data - metrics.energy_model;
  metrics.acceptance = chains.acceptance;
  metrics.hops = chains.hops;
  check_divergence(metrics, loss.loss.item<double>());
  const double elapsed = seconds_since(start);
  metrics.iterations_per_second = 1 / elapsed;
  metrics.seconds = seconds_ += elapsed;
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
  for (const torch::Tensor& p : parameters_) gradients.push_back(p.grad());
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

void Trainer::evaluate(TrainMetrics& metrics) {
  if (!hooks_.validation_score) return;
  ema_.swap();
  const double score = hooks_.validation_score(*model_);
  ema_.swap();
  metrics.validation_score = score;
  log(fmt::format("iteration {}: validation score {:.4f}", iteration_, score));
  if (score > best_score_) {
    best_score_ = score;
    write_named_tensors(directory_->file("best.pt"), state_dict(ema_.averages()));
  }
}

void Trainer::record(const TrainMetrics& metrics) {
  directory_->append_metrics(json_line(metrics));
  if (hooks_.observer) hooks_.observer->on_iteration(metrics);
}

void Trainer::log(const std::string& message) {
  directory_->log(message);
  if (hooks_.observer) hooks_.observer->on_message(message);
}

}  // namespace isinglass
