// Implements the assembly of a training run.
#include "lab/run/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/registry.h"
#include "engine/run/base_draws.h"
#include "io/error.h"
#include "kernels/random/streams.h"
#include "lab/identity.h"
#include "lab/run/annealing_path.h"
#include "lab/run/assemble.h"
#include "lab/run/evaluated_log_z.h"
#include "lab/run/memory.h"
#include "lab/spec/field.h"
#include "models/identity.h"
#include "models/live_state.h"
#include "models/parameter_file.h"
#include "train/likelihood.h"
#include "train/objectives/classify.h"
#include "train/objectives/dsm.h"
#include "train/objectives/nce.h"
#include "train/objectives/pcd_objective.h"

namespace isinglass {
namespace {

bool contrastive(const TrainSpec& spec) {
  return spec.objective == "cd";
}

bool by_noise(const TrainSpec& spec) {
  return spec.objective == "nce";
}

// Returns true if the objective runs chains of the model.
bool has_chains(const TrainSpec& spec) {
  return spec.objective == "pcd" || contrastive(spec);
}

// Returns whether chains move continuous states.
bool moves_points(const TrainSpec& spec) {
  return has_chains(spec) && (spec.model.bounds || moves_continuous(spec.sampler));
}

// Returns whether an iteration makes steps of chains, of the model or of its base.
bool makes_steps(const TrainSpec& spec) {
  return has_chains(spec) || by_noise(spec);
}

bool on_discrete_states(const TrainSpec& spec) {
  return makes_steps(spec) && !moves_points(spec);
}

// The default sampler of continuous states, whose steps cost one gradient each.
constexpr const char* kContinuousSampler = "mala";
// Published trainers restart a chain of continuous states with this probability (Du & Mordatch
// 2019).
constexpr double kContinuousReinit = 0.05;

constexpr const char* kResidual = "residual";
constexpr const char* kLinearHead = "linear";

void refuse_inapplicable(const TrainSpec& spec) {
  for (const Option& option : options_of<TrainSpec>()) {
    require_options(!spec.given.contains(option.name) || applies(option, spec.objective),
                    "`{}` cannot be combined with `objective` {}", option.name, spec.objective);
  }
}

template <class T>
void set_default(std::optional<T>& said, const T& otherwise) {
  if (!said) said = otherwise;
}

using Score = std::function<std::optional<ValidationScore>(EnergyModel&)>;

// Returns the score of a residual model. The draws of its base, which stays as it is, are made when
// the score is first asked for. Data and context must outlive it.
Score score_by_weights(const Dataset& data, const ValidationOptions& options,
                       const Context& context) {
  const auto draws = std::make_shared<std::optional<BaseDraws>>();
  return [&data, &context, options, draws](EnergyModel& averaged) {
    auto& model = dynamic_cast<ResidualModel&>(averaged);
    if (!*draws) {
      draws->emplace(model.base_model(), stream_key(options.seed, RandomStream::kValidation),
                     context.device, *context.ranks);
    }
    return weighted_validation_likelihood(model, **draws, data, options, context.device,
                                          *context.ranks);
  };
}

// Returns the same score, after which the model's tensors are as before: a module that is trained
// may change its buffers whenever it is called, for example the vectors of a spectral norm, and how
// often a run is evaluated must not change what it learns.
Score leaving_no_trace(Score score) {
  return [score = std::move(score)](EnergyModel& model) {
    NamedTensors before = state_of(model);
    for (auto& [name, tensor] : before) tensor = tensor.detach().clone();
    auto found = score(model);
    const torch::NoGradGuard no_grad;
    const NamedTensors after = state_of(model);
    for (size_t i = 0; i < before.size(); ++i) {
      torch::Tensor now = after[i].second;
      if (!now.equal(before[i].second)) now.copy_(before[i].second);
    }
    return found;
  };
}

// Throws Error if quick estimates are asked for and not possible: they need validation images, log
// Z of a residual model's base, and discrete states.
void require_scores(const TrainSpec& spec, const Dataset& data, const EnergyModel& model) {
  if (spec.evaluate_every.value_or(0) == 0) return;
  require_options(!moves_points(spec),
                  "`evaluate-every` estimates the likelihood of images of discrete states, but the "
                  "chains of this run move continuous ones");
  require_options(data.validation.defined() && data.validation.size(0) > 0,
                  "`evaluate-every` needs validation images, but {} has none", data.name);
  const auto* residual = dynamic_cast<const ResidualModel*>(&model);
  require_options(!residual || residual->base_log_z(),
                  "`evaluate-every` needs log Z of the base of {}, which `base-log-z` gives",
                  model.title());
}

// Returns whether quick estimates can be made: require_scores() allows them, and the base of a
// residual model has draws.
bool allows_scores(const TrainSpec& spec, const Dataset& data, const EnergyModel& model) {
  if (moves_points(spec) || !data.validation.defined() || data.validation.size(0) == 0) {
    return false;
  }
  const auto* residual = dynamic_cast<const ResidualModel*>(&model);
  if (!residual) return true;
  EnergyModel& base = residual->base_model();
  return residual->base_log_z() && has_base_draws(base);
}

void set_name(std::string& said, const char* otherwise) {
  if (said.empty()) said = otherwise;
}

// Fills in the options of a residual model, which no other model has.
void resolve_residual(TrainSpec& spec) {
  NewModelSpec& shape = spec.shape;
  if (spec.model.name == kResidual) {
    set_default(shape.bound, ResidualOptions::kDefaultBound);
    set_default(shape.network, std::string("resnet"));
    set_default(shape.head, std::string("mean"));
    if (shape.base_model) {
      shape.base_model->file = std::filesystem::absolute(shape.base_model->file);
    }
    return;
  }
  const auto refuse_if = [&](bool said, const char* name) {
    require_options(!said, "`{}` applies to a residual model; `model` is {}", name,
                    spec.model.name);
  };
  refuse_if(shape.base_model.has_value(), "base-model");
  refuse_if(shape.base_log_z.has_value(), "base-log-z");
  refuse_if(shape.base_log_z_error.has_value(), "base-log-z-error");
  refuse_if(!shape.base_evaluation.empty(), "base-evaluation");
  refuse_if(shape.bound.has_value(), "bound");
  refuse_if(shape.network.has_value(), "network");
  refuse_if(shape.head.has_value(), "head");
}

}  // namespace

TrainSpec without_scores(TrainSpec spec) {
  set_default(spec.evaluate_every, int64_t{0});
  set_default(spec.evaluate_steps, ValidationOptions().temperatures);
  return spec;
}

bool trains_on_points(const TrainSpec& spec) {
  return !makes_steps(spec) || moves_points(spec);
}

TrainSpec resolved_objective(TrainSpec spec, bool continuous) {
  refuse_inapplicable(spec);
  if (by_noise(spec)) {
    set_name(spec.model.name, kResidual);
    if (!spec.given.contains("steps-per-iter")) spec.pcd.steps = NceOptions::kDefaultSweeps;
  } else if (!has_chains(spec)) {
    set_name(spec.model.name, "mlp");
  } else if (continuous || moves_points(spec)) {
    set_name(spec.model.name, "mlp");
    set_name(spec.sampler.name, kContinuousSampler);
    if (!contrastive(spec)) set_default(spec.reinit, kContinuousReinit);
  } else if (contrastive(spec)) {
    set_name(spec.model.name, "rbm");
    if (spec.sampler.name.empty()) {
      spec.sampler.name = "gibbs";
      spec.sampler.options.try_emplace("scan", "chromatic");
    }
  } else {
    set_name(spec.model.name, "resnet");
    set_name(spec.sampler.name, kDefaultSampler);
  }
  if (spec.objective == "pcd") set_default(spec.reinit, PcdOptions().reinit);
  set_default(spec.warmup, std::min(spec.train.warmup, spec.train.iterations / 10));
  const NewModelOptions shape;
  set_default(spec.shape.channels, shape.channels);
  set_default(spec.shape.hidden, shape.hidden);
  if (spec.model.name == "ising") {
    set_default(spec.shape.edges, edge_set_names().front());
    set_default(spec.l1, PcdOptions().l1);
  } else {
    require_options(!spec.shape.edges, "`edges` applies to an ising only; `model` is {}",
                    spec.model.name);
  }
  resolve_residual(spec);
  spec.data = resolved(spec.data);
  return spec;
}

Training::Training(TrainSpec spec, Context context, TrainObserver* observer, bool resumed,
                   Given given)
    : spec_(resolved_objective(std::move(spec), given.model && !given.model->space().discrete())),
      context_(std::move(context)),
      resumed_(resumed),
      given_(std::move(given)) {
  if (given_.model) {
    spec_.model.name = given_.model->kind_name();
    spec_.model.bounds = bounds_of(*given_.model);
  }
  if (!given_.model) find_model(spec_.model.name);
  resolve_base_log_z();
  has_chains(spec_) ? by_chains(observer) : without_chains(observer);
}

// Takes log Z of the base from its evaluation, so that the run's settings hold the numbers.
void Training::resolve_base_log_z() {
  NewModelSpec& shape = spec_.shape;
  if (shape.base_evaluation.empty()) return;
  require_options(!shape.base_log_z, "`base-evaluation` gives log Z; `base-log-z` is not needed");
  const EvaluatedLogZ found = evaluated_log_z(shape.base_evaluation);
  shape.base_log_z = found.value;
  shape.base_log_z_error = found.standard_error;
  evaluated_base_ = {.directory = shape.base_evaluation, .sha256 = found.parameters_sha256};
  shape.base_evaluation.clear();
}

std::vector<std::string> Training::notes() const {
  std::vector<std::string> notes;
  if (data_.missing.defined()) {
    notes.push_back(fmt::format(
        "the training images of {} lack {} of their {} values (NaN); missing values are sampled "
        "given the others",
        data_.name, data_.missing.sum().item<int64_t>(), data_.missing.numel()));
  }
  if (draws_from_grey_levels()) {
    notes.push_back(fmt::format(
        "the values of {} are taken for grey levels: every iteration draws 0 or 1 for each, with "
        "the level as the probability of 1{}",
        data_.name,
        data_.flat ? "; `bounds` trains a model of continuous states on the values themselves"
                   : ""));
  }
  const bool convolves = spec_.model.name == "resnet" ||
                         (spec_.model.name == kResidual && spec_.shape.network == "resnet");
  if (data_.flat && data_.height == 1 && convolves && !given_.model) {
    notes.push_back(fmt::format(
        "the images of {} are rows of {} values, which the convolutions take for images of 1x{}; "
        "`image` gives their height and width",
        data_.name, data_.width, data_.width));
  }
  return notes;
}

// Sets the image size to that of the data. A given size must agree, or tells how rows of pixels
// form images.
void Training::resolve_image() {
  const std::optional<ImageSize>& said = spec_.model.image;
  if (said) set_image_size(data_, said->height, said->width);
  spec_.model.image = ImageSize{data_.height, data_.width};
}

// Sets the number of projected channels. Only a resnet of categorical images projects its values.
void Training::resolve_projection() {
  const bool residual = spec_.model.name == kResidual && spec_.shape.network == "resnet";
  const bool projects = (spec_.model.name == "resnet" || residual) &&
                        data_.values == PixelValues::kCategorical && !given_.model;
  require_options(projects || !spec_.shape.proj,
                  "`proj` applies to a resnet of categorical images only; `model` is {}, and the "
                  "images of {} are {}",
                  spec_.model.name, data_.name,
                  data_.values == PixelValues::kCategorical ? "categorical" : "not");
  if (projects) set_default(spec_.shape.proj, NewModelOptions().proj);
}

int64_t Training::chains() const {
  if (!makes_steps(spec_)) return 0;
  return contrastive(spec_) || by_noise(spec_) ? spec_.batch : spec_.pcd.buffer;
}

std::shared_ptr<EnergyModel> Training::model_to_train(int64_t classes) const {
  const bool categorical = data_.values == PixelValues::kCategorical;
  require_options(!spec_.base_smooth ||
                      (categorical && spec_.base && !given_.model && spec_.model.weights.empty()),
                  "`base-smooth` applies to a new model of categorical images with a `base` and "
                  "without `weights`");
  if (given_.model) return given_.model;
  const std::string& name = spec_.model.name;
  const bool on_base = name == kResidual;
  require_options(!on_base || on_discrete_states(spec_),
                  "`model` residual cannot be combined with `objective` {}", spec_.objective);
  require_options(on_base || find_model(name).trainable(),
                  "`model` {} cannot be trained; resnet, mlp, rbm, ising or residual is needed",
                  name);
  NewModelOptions model{.image_height = data_.height,
                        .image_width = data_.width,
                        .channels = *spec_.shape.channels,
                        .hidden = *spec_.shape.hidden,
                        .continuous = !on_discrete_states(spec_),
                        .classes = classes};
  if (categorical) {
    require_options(find_model(name).categorical,
                    "`model` {} has no categorical sites, which "
                    "the images of {} need; resnet or rbm is needed",
                    name, data_.name);
    model.categories = data_.categories;
  }
  if (spec_.shape.proj) model.proj = *spec_.shape.proj;
  if (spec_.shape.edges) model.edges = edge_set(*spec_.shape.edges);
  if (has_chains(spec_) && on_discrete_states(spec_) && spec_.base)
    model.base_mean = clamped_mean(data_);
  if (spec_.base_smooth) model.base_mean = smoothed(model.base_mean, *spec_.base_smooth);
  require_memory(
      training_bytes(on_base ? *spec_.shape.network : name, model, spec_.batch, chains()),
      context_.device,
      fmt::format("`channels` {} `hidden` {} `batch` {} with {} chains", model.channels,
                  model.hidden, spec_.batch, chains()));
  const auto seed = static_cast<uint64_t>(spec_.seed);
  std::shared_ptr<EnergyModel> made =
      on_base ? new_residual(residual_options(), model, seed) : new_model(name, model, seed);
  if (evaluated_base_) {
    const EnergyModel& base = dynamic_cast<const ResidualModel&>(*made).base_model();
    require_options(parameters_sha256(base) == evaluated_base_->sha256,
                    "`base-evaluation` {} evaluates other parameters than those of `base-model` {}",
                    evaluated_base_->directory.string(), spec_.shape.base_model->file.string());
  }
  if (!spec_.model.weights.empty() && !resumed_) {
    ParameterReader reader(spec_.model.weights);
    load_state(*made, reader);
  }
  made->to(context_.device);
  set_gradient_precision(spec_.model, *made, context_.device);
  return made;
}

NewResidualOptions Training::residual_options() const {
  const NewModelSpec& shape = spec_.shape;
  require_options(shape.base_model.has_value(),
                  "`model` residual needs `base-model` NAME=FILE, the base with its parameters");
  require_options(!shape.base_log_z_error || shape.base_log_z,
                  "`base-log-z-error` is that of `base-log-z`, which is not given");
  NewResidualOptions options{.base = *shape.base_model,
                             .bound = *shape.bound,
                             .network = *shape.network,
                             .linear_head = *shape.head == kLinearHead};
  if (shape.base_log_z) {
    options.log_z = KnownLogZ{*shape.base_log_z, shape.base_log_z_error.value_or(std::nan(""))};
  }
  return options;
}

// Ten estimates of a run take at most a tenth of the steps that its chains make, and shorter runs
// than ten iterations none.
void Training::resolve_scores(bool possible) {
  constexpr int64_t kEstimates = 10, kShare = 10;
  const ValidationOptions most;
  const int64_t iterations = spec_.train.iterations;
  if (!spec_.evaluate_steps) {
    const double steps = static_cast<double>(iterations) * static_cast<double>(spec_.pcd.steps) *
                         static_cast<double>(spec_.batch) /
                         static_cast<double>(kEstimates * kShare * most.chains);
    const double affordable = spec_.evaluate_every ? INFINITY : std::max(1.0, steps);
    spec_.evaluate_steps = affordable < static_cast<double>(most.temperatures)
                               ? static_cast<int64_t>(affordable)
                               : most.temperatures;
  }
  set_default(spec_.evaluate_every, possible ? iterations / kEstimates : 0);
}

TrainOptions Training::train_options() const {
  TrainOptions train = spec_.train;
  train.evaluate_every = spec_.evaluate_every.value_or(0);
  train.warmup = *spec_.warmup;
  const auto steps = static_cast<double>(makes_steps(spec_) ? most_steps(spec_.pcd) : 1);
  require_options(
      static_cast<double>(train.iterations) <= kLargestStep / steps,
      "`iters` is {}; at most {:.0f} is possible, because steps are numbered by 32 bits",
      train.iterations, std::floor(kLargestStep / steps));
  require_options(train.schedule != RateSchedule::kConstant || !spec_.given.contains("lr-end"),
                  "`lr-end` cannot be combined with `lr-schedule` constant");
  train.program = program_revision();
  return train;
}

PcdOptions Training::pcd_options() const {
  PcdOptions pcd = spec_.pcd;
  pcd.batch = spec_.batch;
  pcd.buffer = chains();
  pcd.from_data = contrastive(spec_);
  pcd.reinit = spec_.reinit.value_or(0);
  if (!given_.model) pcd.bounds = spec_.model.bounds;
  pcd.begin_at_data = !spec_.model.weights.empty() && !given_.model;
  pcd.l1 = spec_.l1.value_or(0);
  pcd.lag = spec_.lr_control == "lag";
  pcd.seed = static_cast<uint64_t>(spec_.seed);
  pcd.cuda_graph = captures_steps(spec_.cuda_graph, *model_, *sampler_, context_.device);
  return pcd;
}

void Training::by_chains(TrainObserver* observer) {
  find_sampler(spec_.sampler.name);
  const bool points = moves_points(spec_);
  data_ = given_.data ? *given_.data : points ? points_of(spec_.data) : images_of(spec_.data);
  resolve_image();
  resolve_projection();
  model_ = model_to_train();
  sampler_ = training_sampler_of(
      spec_.sampler, *model_,
      "training has no burn-in, because its model changes with every iteration");
  spec_.sampler = resolved(spec_.sampler, *model_);
  const PathKind path = path_for(spec_.sampler, *model_);
  require_options(spec_.pcd.rungs == 0 || path == PathKind::kLinear,
                  "`rungs` needs a sampler other than block Gibbs sweeps, because U times an "
                  "inverse temperature is not the energy of an rbm");
  require_scores(spec_, data_, *model_);
  const auto* residual = dynamic_cast<const ResidualModel*>(model_.get());
  const bool by_weights = residual && residual->base_model().sweeps();
  const bool anneals = by_weights || sampler_->exact();
  require_options(spec_.evaluate_every.value_or(0) == 0 || anneals,
                  "`evaluate-every` anneals with steps that must leave the distribution invariant, "
                  "but {} is not exact",
                  sampler_->name());
  resolve_scores(anneals && allows_scores(spec_, data_, *model_));
  ValidationOptions validation = spec_.validation;
  validation.temperatures = *spec_.evaluate_steps;
  validation.path = path;
  validation.seed = static_cast<uint64_t>(spec_.seed);
  const TrainOptions train = train_options();
  TrainHooks watched = hooks(observer);
  watched.validation_score = [this, validation](EnergyModel& averaged) {
    return quick_validation_likelihood(averaged, *sampler_, data_, validation, context_.device,
                                       context_.stop, *context_.ranks);
  };
  if (by_weights) watched.validation_score = score_by_weights(data_, validation, context_);
  watched.validation_score = leaving_no_trace(std::move(watched.validation_score));
  trainer_ = std::make_unique<Trainer>(
      model_,
      std::make_unique<PcdObjective>(*model_, *sampler_, data_, pcd_options(), train.iterations,
                                     context_.device, *context_.ranks),
      train, watched);
}

TrainHooks Training::hooks(TrainObserver* observer) const {
  return {.ranks = context_.ranks, .observer = observer, .stop = context_.stop};
}

void Training::without_chains(TrainObserver* observer) {
  data_ = given_.data       ? *given_.data
          : by_noise(spec_) ? images_of(spec_.data)
                            : points_of(spec_.data);
  resolve_image();
  if (by_noise(spec_)) resolve_projection();
  std::unique_ptr<Objective> objective;
  TrainHooks watched = hooks(observer);
  const auto seed = static_cast<uint64_t>(spec_.seed);
  if (by_noise(spec_)) {
    require_options(given_.model || spec_.model.name == kResidual,
                    "`objective` nce trains a residual model; `model` is {}", spec_.model.name);
    model_ = model_to_train();
    require_scores(spec_, data_, *model_);
    resolve_scores(allows_scores(spec_, data_, *model_));
    ValidationOptions validation = spec_.validation;
    validation.seed = seed;
    watched.validation_score = leaving_no_trace(score_by_weights(data_, validation, context_));
    const NceOptions nce{.batch = spec_.batch, .sweeps = spec_.pcd.steps, .seed = seed};
    objective = std::make_unique<NceObjective>(*model_, data_, nce, spec_.train.iterations,
                                               context_.device, *context_.ranks);
  } else if (spec_.objective == "dsm") {
    model_ = model_to_train();
    DsmOptions dsm = spec_.dsm;
    dsm.batch = spec_.batch;
    dsm.seed = seed;
    objective =
        std::make_unique<DsmObjective>(*model_, data_, dsm, context_.device, *context_.ranks);
  } else {
    const torch::Tensor labels = given_.labels.defined()  ? given_.labels
                                 : data_.labels.defined() ? data_.labels
                                                          : labels_of(spec_.data);
    require_labels(labels, data_.train.size(0), data_.name);
    model_ = model_to_train(labels.max().item<int64_t>() + 1);
    objective = std::make_unique<ClassifyObjective>(
        *model_, data_, labels.to(torch::kInt64),
        ClassifyOptions{.batch = spec_.batch, .seed = seed}, context_.device, *context_.ranks);
  }
  trainer_ = std::make_unique<Trainer>(model_, std::move(objective), train_options(), watched);
}

void Training::log_notes(const std::filesystem::path& directory) const {
  for (const std::string& note : notes()) RunDirectory::open(directory).log(note);
}

void keep_warmup(TrainSpec& spec, const std::filesystem::path& directory) {
  if (spec.warmup) return;
  if (newest_checkpoint(directory).empty()) return;
  const std::vector<std::filesystem::path> files = RunDirectory::open(directory).checkpoints();
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    try {
      for (const auto& [name, value] : read_checkpoint(*file).settings) {
        if (name == "warmup") spec.warmup = std::get<int64_t>(value.value);
      }
      return;
    } catch (const Error&) {  // Trainer::resume() says what is wrong, and tries the next one, too.
    }
  }
}

std::filesystem::path newest_checkpoint(const std::filesystem::path& directory) {
  if (!std::filesystem::is_directory(directory / "checkpoints")) return {};
  try {
    return RunDirectory::open(directory).checkpoints().back();
  } catch (const Error&) {  // It has no checkpoint yet.
    return {};
  }
}

}  // namespace isinglass
