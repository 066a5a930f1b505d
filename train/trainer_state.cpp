// Implements how a training run is started, saved, resumed and recovered (trainer.h).
#include <fmt/ranges.h>

#include <algorithm>

#include "io/error.h"
#include "io/settings.h"
#include "io/sha256.h"
#include "io/unreadable.h"
#include "models/identity.h"
#include "models/live_state.h"
#include "train/trainer.h"

namespace isinglass {
namespace {

constexpr int64_t kRecoveryWindow = 10;  // number of checkpoint intervals

}  // namespace

void Trainer::start(const std::filesystem::path& directory) {
  if (ranks().is_rank0()) {
    directory_ = RunDirectory::create(directory);
    metrics_file_.emplace(directory_->file("metrics.jsonl"));
    objective_->draw_data(directory_->file("data.png"));
  }
  notify([&](TrainObserver& observer) { observer.on_start(iteration_); });
  save();
  ranks().any(false);  // waits until rank 0 has written its files
  if (!ranks().is_rank0()) directory_ = RunDirectory::open(directory);
  warn_of_warmup();
}

void Trainer::resume(const std::filesystem::path& directory) {
  directory_ = RunDirectory::open(directory);
  // Rank 0 sets aside checkpoints that it cannot read. The other ranks read the one that it has
  // found.
  std::optional<std::pair<std::filesystem::path, Checkpoint>> found;
  if (ranks().is_rank0()) found = newest_readable();
  const int64_t newest =
      ranks().sum(torch::tensor(found ? found->second.iteration : int64_t{0})).item<int64_t>();
  if (!found) {
    const std::filesystem::path file = directory_->checkpoint_file(newest);
    found.emplace(file, read_checkpoint(file));
  }
  const auto& [file, checkpoint] = *found;
  restore(checkpoint, file.string());
  if (ranks().is_rank0()) metrics_file_.emplace(directory_->file("metrics.jsonl"));
  notify([&](TrainObserver& observer) { observer.on_start(iteration_); });
  if (ranks().is_rank0()) earlier_seconds_ = metrics_file_->seconds();
  evaluation_pending_ = ranks().any(ranks().is_rank0() && iteration_ > 0 && evaluation_due() &&
                                    !metrics_file_->scored());
  if (ranks().is_rank0()) export_weights();  // a killed process may not have written them
  log(fmt::format("resumed at iteration {}{}", iteration_,
                  checkpoint.program == options_.program
                      ? ""
                      : fmt::format(" with the program {}; the checkpoint was written by {}",
                                    options_.program, checkpoint.program)));
  if (metrics_file_ && !metrics_file_->warning().empty()) warn(metrics_file_->warning());
  if (iteration_ > options_.iterations) {
    warn(
        fmt::format("the run has made {} iterations, more than the {} that it is to have, so that "
                    "it makes none",
                    iteration_, options_.iterations));
  }
  warn_of_warmup();
  warn_of_plan(checkpoint);
}

void Trainer::warn_of_warmup() {
  if (options_.warmup < options_.iterations || iteration_ >= options_.iterations) return;
  warn(fmt::format(
      "the warm-up of the learning rate takes {} iterations, but the run has {}, so that the rate "
      "reaches {:.3g} of {:g} at its end{}",
      options_.warmup, options_.iterations,
      options_.learning_rate * static_cast<double>(options_.iterations) /
          static_cast<double>(options_.warmup),
      options_.learning_rate,
      options_.schedule == RateSchedule::kConstant ? "" : ", and the schedule never begins"));
}

// Warns if a resumed run has another plan of the learning rate than before.
void Trainer::warn_of_plan(const Checkpoint& resumed) {
  if (settings_text(resumed.plan) == settings_text(plan())) return;
  if (iteration_ >= options_.iterations) return;
  LearningRate before{.peak = options_.learning_rate, .warmup = options_.warmup};
  for (const auto& [name, value] : resumed.plan) {
    if (name == "schedule") before.schedule = rate_schedule(std::get<std::string>(value.value));
    if (name == "end_rate") before.end = std::get<double>(value.value);
    if (name == "iterations") before.to = std::get<int64_t>(value.value);
  }
  before.from = resumed.planned_from;
  const double was = planned_rate(before);
  ++iteration_;
  const double next = learning_rate();
  --iteration_;
  warn(
      fmt::format("the schedule of the learning rate starts again from iteration {} and ends at {} "
                  "({}): the rate was {:.4g}, and it is {:.4g} in the next iteration",
                  iteration_, options_.iterations, name_of(options_.schedule), was, next));
}

std::pair<std::filesystem::path, Checkpoint> Trainer::newest_readable() {
  const std::vector<std::filesystem::path> files = directory_->checkpoints();
  std::vector<std::string> damaged;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    try {
      std::pair found(*file, read_checkpoint(*file));
      if (!damaged.empty()) {
        const int64_t iteration = found.second.iteration;
        const int64_t lost = iteration_of(files.back()) - iteration;
        warn(fmt::format(
            "{} {} damaged and {} set aside as *.unreadable; training goes on from "
            "iteration {}, so that {} iteration{} lost and made again",
            fmt::join(damaged, " and "), damaged.size() == 1 ? "is" : "are",
            damaged.size() == 1 ? "was" : "were", iteration, lost, lost == 1 ? " is" : "s are"));
      }
      return found;
    } catch (const OtherFormat&) {
      throw;
    } catch (const Unreadable&) {
      throw;  // the file itself may be sound
    } catch (const Error& error) {
      directory_->set_aside(*file);
      damaged.push_back(file->string());
      log(fmt::format("a checkpoint that cannot be read was set aside: {}", error.what()));
    }
  }
  fail("no checkpoint of {} can be read; log.txt there says why", directory_->file("").string());
}

void Trainer::save() {
  check_parameters();
  saved_ = iteration_;
  NamedTensors energies = energies_;
  for (auto& [name, energy] : energies) energy = ranks().gather(energy).cpu();
  if (!ranks().is_rank0()) return;
  const std::filesystem::path file = directory_->checkpoint_file(iteration_);
  write_checkpoint(file, checkpoint());
  directory_->remove_old_checkpoints(options_.recover > 0 ? recovery_spacing() : 0);
  export_weights();
  try {
    objective_->draw_samples(*model_, directory_->samples_file(iteration_));
  } catch (const Error& error) {  // a missing picture is no reason to end the run
    warn(fmt::format("iteration {}: the picture of the chains could not be written: {}", iteration_,
                     error.what()));
  }
  log(fmt::format("iteration {}: saved {}", iteration_, file.string()));
  notify([&](TrainObserver& observer) {
    observer.on_energies(iteration_, energies);
    observer.on_checkpoint(file);
  });
}

void Trainer::check_parameters() const {
  if (ranks().size() == 1) return;
  const std::string own = sha256(state_dict(parameters_));
  const int64_t number = std::stoll(own.substr(0, 15), nullptr, 16);
  const torch::Tensor all = ranks().gather(torch::tensor({number}));
  if ((all == number).all().item<bool>()) return;
  throw std::runtime_error(fmt::format("the ranks' parameters differ at iteration {}", iteration_));
}

// Returns the spacing [iterations] of the checkpoints that recovery goes back to. The last but one
// of them is from before the suspect iterations. The spacing does not depend on where a run was
// interrupted.
int64_t Trainer::recovery_spacing() const {
  const int64_t every = options_.checkpoint_every;
  return (kSuspectStretch + every - 1) / every * every;
}

// A process that is killed at any line of this function resumes either before the recovery, which
// it then repeats, or after it. Therefore later checkpoints are removed first, latest first, and
// the checkpoint that the run went back to is replaced at once by the new state.
void Trainer::recover(const std::string& reason) {
  const int64_t diverged = iteration_;
  const std::optional<Scale> step_size = objective_->step_size();
  const std::string cause = step_size ? divergence_.small_steps(*step_size) : "";
  const std::string what =
      fmt::format("training diverged at iteration {}: {}{}", diverged, reason, cause);
  const std::filesystem::path file =
      directory_->recovery_point(diverged - kSuspectStretch, recovery_spacing());
  const auto recent = std::count_if(recoveries_.begin(), recoveries_.end(), [&](int64_t earlier) {
    return earlier > diverged - kRecoveryWindow * options_.checkpoint_every;
  });
  if (recent >= options_.recover) {
    const std::string remedy =
        iteration_of(file) > 0
            ? fmt::format("the checkpoint to go back to is {}", file.string())
            : fmt::format(
                  "start again with {}, because only the checkpoint of iteration 0 is from "
                  "before the divergence",
                  cause.empty() ? "a lower `lr`"
                                : fmt::format("a larger `{}` or a lower `lr`", step_size->name));
    const std::string message = fmt::format("{}; {}", what, remedy);
    log(message);
    throw NumericalError(message);
  }
  std::vector<int64_t> recoveries = recoveries_;
  const double best_score = best_score_;  // best.pt is kept
  restore(read_checkpoint(file), file.string());
  ranks().any(false);  // waits until all ranks have read the file, which is replaced below
  recoveries.push_back(diverged);
  recoveries_ = std::move(recoveries);
  best_score_ = best_score;
  adam_.forget();
  objective_->repair(*model_, std::ssize(recoveries_));
  log(fmt::format("{}; back to iteration {} with the learning rate halved (recovery {})", what,
                  iteration_, recoveries_.size()));
  if (ranks().is_rank0()) directory_->remove_checkpoints_after(iteration_);
  notify([&](TrainObserver& observer) { observer.on_start(iteration_); });
  save();
}

void Trainer::export_weights() const {
  write_named_tensors(directory_->file("weights.pt"), state_dict(parameters_));
  write_named_tensors(directory_->file("ema.pt"), state_dict(ema_.rounded()));
}

NamedTensors Trainer::state_dict(const std::vector<torch::Tensor>& parameters) const {
  NamedTensors dict = state_of(*model_);
  for (auto& [name, tensor] : dict) {
    const auto own = std::find_if(parameters_.begin(), parameters_.end(),
                                  [&](const torch::Tensor& p) { return p.is_same(tensor); });
    tensor = own == parameters_.end() ? tensor.detach() : parameters[own - parameters_.begin()];
  }
  return dict;
}

NamedTensors Trainer::named(const std::vector<torch::Tensor>& of_parameters) const {
  NamedTensors result = distinct_parameters(*model_);
  for (size_t i = 0; i < result.size(); ++i) result[i].second = of_parameters[i];
  return result;
}

PtDict Trainer::settings() const {
  PtDict settings = {{"model", {model_->kind_name()}},
                     {"learning_rate", {options_.learning_rate}},
                     {"warmup", {options_.warmup}},
                     {"clip", {options_.clip}},
                     {"weight_decay", {options_.weight_decay}},
                     {"ema", {options_.ema}}};
  if (options_.beta1 != Adam::kBeta1) settings.push_back({"beta1", {options_.beta1}});
  for (auto& setting : objective_->settings()) settings.push_back(std::move(setting));
  return settings;
}

PtDict Trainer::plan() const {
  if (options_.schedule == RateSchedule::kConstant) return {};
  return {{"schedule", {name_of(options_.schedule)}},
          {"end_rate", {options_.end_rate}},
          {"iterations", {options_.iterations}}};
}

Checkpoint Trainer::checkpoint() const {
  return {.settings = settings(),
          .program = options_.program,
          .iteration = iteration_,
          .plan = plan(),
          .planned_from = planned_from_,
          .recoveries = torch::tensor(recoveries_, torch::kInt64),
          .divergence = divergence_.memory(),
          .skipped = skipped_,
          .best_score = best_score_,
          .parameters = state_dict(parameters_),
          .averages = named(ema_.averages()),
          .first_moments = named(adam_.first_moments()),
          .second_moments = named(adam_.second_moments()),
          .adam_step = adam_.step_number(),
          .average_updates = ema_.updates(),
          .buffer = objective_->chains(),
          .carried = objective_->saved_state(),
          .functions = functions()};
}

// Returns what tells the user's functions in the model apart from others with the same parameters.
PtDict Trainer::functions() const {
  if (own_functions(*model_).empty()) return {};
  return function_identity(*model_, parameters_[0].device());
}

void Trainer::restore(const Checkpoint& saved, const std::string& file) {
  require_same_settings(saved.settings, settings(), file);
  const Checkpoint own = checkpoint();  // its tensors are the trainer's own tensors
  copy_tensors(saved.parameters, own.parameters, file);
  // A buffer may share a parameter's tensor until a module is first called.
  for (const auto& [name, tensor] : named(parameters_)) {
    const torch::NoGradGuard no_grad;
    for (const auto& [key, value] : saved.parameters) {
      if (key == name) tensor.copy_(value);
    }
  }
  copy_tensors(saved.averages, own.averages, file);
  copy_tensors(saved.first_moments, own.first_moments, file);
  copy_tensors(saved.second_moments, own.second_moments, file);
  objective_->load_state(saved.carried, file);
  copy_tensors({{"adam_step", saved.adam_step},
                {"average_updates", saved.average_updates},
                {"buffer", saved.buffer}},
               {{"adam_step", own.adam_step},
                {"average_updates", own.average_updates},
                {"buffer", own.buffer}},
               file);
  if (!saved.functions.empty()) {
    require_same_functions(&saved.functions, *model_, parameters_[0].device(), file);
  }
  iteration_ = saved_ = saved.iteration;
  planned_from_ =
      settings_text(saved.plan) == settings_text(plan()) ? saved.planned_from : saved.iteration;
  const torch::Tensor recoveries = saved.recoveries.contiguous();
  recoveries_.assign(recoveries.data_ptr<int64_t>(),
                     recoveries.data_ptr<int64_t>() + recoveries.numel());
  divergence_.restore(saved.divergence);
  skipped_ = saved.skipped;
  best_score_ = saved.best_score;
}

}  // namespace isinglass
