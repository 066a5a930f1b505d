// isinglass train: persistent contrastive divergence, score matching or classification on a data
// set, into a run directory (train/run_directory.h); --resume DIR goes on.
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/identity.h"
#include "cli/options/shared_options.h"
#include "cli/output_directory.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "io/error.h"
#include "lab/run/memory.h"
#include "models/parameter_file.h"
#include "train/likelihood.h"
#include "train/objectives/classify.h"
#include "train/objectives/dsm.h"
#include "train/trainer.h"

namespace isinglass {
namespace {

// Shows the iterations; from the first checkpoint on the directory is worth keeping.
class TrainProgress : public TrainObserver {
 public:
  explicit TrainProgress(OutputDirectory& out) : out_(out) {}

  void begin(int64_t iteration, const Options& options) {
    progress_.emplace("train", options.integer("iters"), options.flag("quiet"), iteration);
  }
  void end() { progress_.reset(); }

  void on_iteration(const TrainMetrics& metrics) override {
    last_ = metrics;
    progress_->update(metrics.iteration,
                      metrics.loss ? fmt::format("loss {:.4g}", *metrics.loss)
                                   : fmt::format("U(data) - U(chains) {:+.3f}, acceptance {:.2f}",
                                                 metrics.difference, metrics.acceptance));
  }
  void on_checkpoint(const std::filesystem::path& file) override {
    out_.keep(fmt::format("{} is kept; isinglass train --resume {} goes on", file.string(),
                          out_.path().string()));
  }

  const std::optional<TrainMetrics>& last() const { return last_; }

 private:
  OutputDirectory& out_;
  std::optional<Progress> progress_;
  std::optional<TrainMetrics> last_;
};

bool contrastive(const Options& options) {
  return options.text("objective") == "cd";
}

bool by_chains(const Options& options) {
  return options.text("objective") == "pcd" || contrastive(options);
}

// Contrastive divergence is of an rbm by its Gibbs sweeps, unless others are named.
void resolve_contrastive(Options& options) {
  if (!options.given("model")) options.set("model", "rbm");
  if (!options.given("sampler")) {
    options.set("sampler", "gibbs");
    if (!options.given("scan")) options.set("scan", "chromatic");
  }
}

// What belongs to other objectives is refused, and config.toml holds what was used. The default
// model of those without chains is an mlp.
void resolve_objective(Options& options) {
  std::vector<std::string> others;
  if (contrastive(options)) {
    resolve_contrastive(options);
    others = {"buffer", "reinit"};
  }
  if (!by_chains(options)) {
    others = {"sampler", "base",           "steps-per-iter", "buffer",    "l2",   "p-control",
              "reinit",  "evaluate-every", "evaluate-steps", "balancing", "scan", "cuda-graph"};
    for (const auto& [name, member] : sampler_numbers()) others.push_back(name);
    for (const auto& [name, member] : sampler_switches()) others.push_back(name);
    if (!options.given("model")) options.set("model", "mlp");
  }
  if (options.text("objective") != "dsm") others.push_back("noise");
  for (const std::string& name : others) {
    require(!options.given(name), "--{} does not go with --objective {}", name,
            options.text("objective"));
    options.unset(name);
  }
}

TrainOptions common_options(const Options& options) {
  TrainOptions train;
  train.iterations = options.integer("iters");
  train.learning_rate = options.real("lr");
  train.warmup = options.integer("warmup");
  train.schedule = rate_schedule(options.text("lr-schedule"));
  require(train.schedule != RateSchedule::kConstant || !options.has("lr-end"),
          "--lr-end does not go with --lr-schedule constant");
  if (options.has("lr-end")) train.end_rate = options.real("lr-end");
  if (options.has("clip")) train.clip = options.real("clip");
  train.recover = options.integer("recover");
  train.ema = options.real("ema");
  train.checkpoint_every = options.integer("checkpoint-every");
  train.program = program_revision();
  return train;
}

// The chains that are kept.
int64_t chains_of(const Options& options) {
  return options.integer(contrastive(options) ? "batch" : "buffer");
}

TrainOptions train_options(const Options& options) {
  TrainOptions train = common_options(options);
  train.pcd = {.batch = options.integer("batch"),
               .steps = options.integer("steps-per-iter"),
               .from_data = contrastive(options),
               .reinit = contrastive(options) ? 0 : options.real("reinit"),
               .l2 = options.real("l2"),
               .p_control = options.real("p-control"),
               .seed = static_cast<uint64_t>(options.integer("seed"))};
  train.buffer = chains_of(options);
  train.evaluate_every = options.integer("evaluate-every");
  return train;
}

// The image size is the data's; a given one must agree.
void resolve_image(Options& options, const Dataset& data) {
  const auto [height, width] = image_of(options);
  require(!options.given("image") || (height == data.height && width == data.width),
          "--image is {}, but the images of {} are {}x{}", options.text("image"), data.name,
          data.height, data.width);
  options.set("image", fmt::format("{}x{}", data.height, data.width));
}

// A model with fresh parameters, or with those of --weights. A resumed run has its own.
std::shared_ptr<EnergyModel> model_to_train(const Options& options, const Dataset& data,
                                            bool resumed, torch::Device device,
                                            int64_t classes = 1) {
  const std::string& name = options.text("model");
  require(find_model(name).trainable(),
          "--model {} cannot be trained; a deep model or rbm is needed", name);
  NewModelOptions model;
  model.image_height = data.height;
  model.image_width = data.width;
  model.channels = options.integer("channels");
  model.hidden = options.integer("hidden");
  model.continuous = !by_chains(options);
  model.classes = classes;
  if (!model.continuous && options.flag("base")) model.base_mean = clamped_mean(data);
  const int64_t chains = model.continuous ? 0 : chains_of(options);
  require_memory(training_bytes(name, model, options.integer("batch"), chains), device,
                 fmt::format("--channels {} --hidden {} --batch {} with {} chains", model.channels,
                             model.hidden, options.integer("batch"), chains));
  std::shared_ptr<EnergyModel> made =
      new_model(name, model, static_cast<uint64_t>(options.integer("seed")));
  if (options.has("weights") && !resumed) {
    ParameterReader reader(options.path("weights"));
    load_state(*made, reader);
  }
  made->to(device);
  set_gradient_precision(options, *made);
  return made;
}

// Iterations that --resume finds done, or none if this is a new run or one killed before its first
// checkpoint.
std::optional<int64_t> resumed_iteration(const Options& options) {
  if (!options.has("resume")) return std::nullopt;
  const std::filesystem::path directory = options.path("resume");
  if (options.has("out")) {
    const std::filesystem::path out = options.path("out");
    require(std::filesystem::weakly_canonical(out) == std::filesystem::weakly_canonical(directory),
            "--out is {}, but --resume writes to {}", out.string(), directory.string());
  }
  const std::filesystem::path newest = newest_checkpoint(directory);
  if (newest.empty()) return std::nullopt;
  const int64_t done = std::strtoll(newest.stem().c_str(), nullptr, 10);
  require(options.integer("iters") >= done, "--iters is {}, but {} has made {} iterations",
          options.integer("iters"), directory.string(), done);
  return done;
}

std::string result_text(const Options& options, const TrainResult& result,
                        const std::optional<TrainMetrics>& last, const OutputDirectory& out) {
  if (options.flag("json")) {
    nlohmann::ordered_json json = {{"model", options.text("model")},
                                   {"dataset", options.text("dataset")},
                                   {"iteration", result.iteration},
                                   {"recoveries", result.recoveries},
                                   {"out", out.path().string()}};
    if (last) json["metrics"] = nlohmann::ordered_json::parse(json_line(*last));
    return json.dump(2) + "\n";
  }
  const std::string recovered = result.recoveries == 0
                                    ? ""
                                    : fmt::format(" (it diverged {} times; {} says when)",
                                                  result.recoveries, out.file("log.txt").string());
  return fmt::format("{} trained on {} for {} iterations{}; averaged parameters in {}\n",
                     options.text("model"), options.text("dataset"), result.iteration, recovered,
                     out.file("ema.pt").string());
}

// Begins or goes on, to the end.
std::string run_trainer(Options& options, OutputDirectory& out, bool resumed,
                        TrainProgress& progress, Trainer& trainer) {
  TrainResult result;
  out.fill(options, [&] {
    resumed ? trainer.resume(out.path()) : trainer.start(out.path());
    progress.begin(trainer.iteration(), options);
    result = trainer.run();
    progress.end();
    if (result.interrupted) {
      throw Interrupted(fmt::format("saved after iteration {}; isinglass train --resume {} goes on",
                                    result.iteration, out.path().string()));
    }
  });
  return result_text(options, result, progress.last(), out);
}

std::string train_by_chains(Options& options, OutputDirectory& out, bool resumed,
                            torch::Device device) {
  TrainOptions train = train_options(options);
  find_sampler(options.text("sampler"));
  find_model(options.text("model"));
  const Dataset data = dataset_of(options);
  resolve_image(options, data);
  const std::shared_ptr<EnergyModel> model = model_to_train(options, data, resumed, device);
  const std::unique_ptr<Sampler> sampler = fixed_sampler_of(
      options, *model, "training has none: its model changes with every iteration");
  train.pcd.cuda_graph = cuda_graph_of(options, *model, *sampler, device);
  require(train.evaluate_every == 0 || data.validation.size(0) > 0,
          "--evaluate-every needs validation images; {} has none", data.name);
  require(
      train.evaluate_every == 0 || !options.has("scan") || options.text("scan") != "chromatic",
      "--evaluate-every anneals the model, and --scan chromatic has no sweeps of annealed ones");
  const ValidationOptions validation{.temperatures = options.integer("evaluate-steps"),
                                     .seed = train.pcd.seed};
  TrainProgress progress(out);
  Trainer trainer(
      model, *sampler, data, train, device,
      {.observer = &progress, .stop = interrupted, .validation_score = [&](auto& averaged) {
         return quick_validation_likelihood(averaged, *sampler, data, validation, device,
                                            interrupted);
       }});
  return run_trainer(options, out, resumed, progress, trainer);
}

struct Task {
  std::shared_ptr<EnergyModel> model;
  std::unique_ptr<Objective> objective;
};

Task score_matching(const Options& options, const Dataset& data, bool resumed,
                    torch::Device device) {
  Task task{model_to_train(options, data, resumed, device), nullptr};
  const DsmOptions dsm{.batch = options.integer("batch"),
                       .noise = options.real("noise"),
                       .seed = static_cast<uint64_t>(options.integer("seed"))};
  task.objective = std::make_unique<DsmObjective>(*task.model, data, dsm, device);
  return task;
}

Task classification(Options& options, const Dataset& data, bool resumed, torch::Device device) {
  const torch::Tensor labels = labels_of(options);
  const int64_t classes = labels.max().item<int64_t>() + 1;
  Task task{model_to_train(options, data, resumed, device, classes), nullptr};
  const ClassifyOptions classify{.batch = options.integer("batch"),
                                 .seed = static_cast<uint64_t>(options.integer("seed"))};
  task.objective = std::make_unique<ClassifyObjective>(*task.model, data, labels, classify, device);
  return task;
}

std::string train_without_chains(Options& options, OutputDirectory& out, bool resumed,
                                 torch::Device device) {
  find_model(options.text("model"));
  const Dataset data = points_of(options);
  resolve_image(options, data);
  Task task = options.text("objective") == "dsm" ? score_matching(options, data, resumed, device)
                                                 : classification(options, data, resumed, device);
  TrainProgress progress(out);
  Trainer trainer(task.model, std::move(task.objective), common_options(options),
                  {.observer = &progress, .stop = interrupted});
  return run_trainer(options, out, resumed, progress, trainer);
}

std::string run_train(Options& options) {
  const torch::Device device = device_of(options);
  resolve_objective(options);
  const bool resumed = resumed_iteration(options).has_value();
  OutputDirectory out(options);
  return by_chains(options) ? train_by_chains(options, out, resumed, device)
                            : train_without_chains(options, out, resumed, device);
}

}  // namespace

Command train_command() {
  Command command{
      .name = "train",
      .summary = "train a model on a data set: contrastive divergence, score matching, classes",
      .run = run_train};
  command.options = {{.name = "model",
                      .unit = "NAME",
                      .help = "resnet, mlp or rbm; rbm by cd, mlp by dsm and classify",
                      .initial = "resnet"},
                     {.name = "weights",
                      .type = ValueType::kPath,
                      .unit = "FILE",
                      .help = "parameters to start from (.pt), of the same model and size; chains, "
                              "averages and the optimiser begin anew"},
                     {.name = "image",
                      .unit = "HxW",
                      .help = "height and width of the images",
                      .initial = "28x28"}};
  append(command.options, data_options());
  append(command.options, sampler_options("pafs"));
  append(command.options, {gradient_precision_option(), cuda_graph_option()});
  append(command.options, new_model_options());
  append(command.options, objective_options());
  append(command.options, {{.name = "out",
                            .type = ValueType::kPath,
                            .unit = "DIR",
                            .help = "run directory; required, or --resume",
                            .stored = false},
                           {.name = "resume",
                            .type = ValueType::kPath,
                            .unit = "DIR",
                            .help = "go on with the run of this directory",
                            .stored = false},
                           overwrite_option()});
  return command;
}

}  // namespace isinglass
