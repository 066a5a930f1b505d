// Holds the specification of a run as plain values. The command line, the cells of a grid,
// configuration files and other programs fill the same structures. An empty optional, name or path
// means "not given": the default then belongs to the sampler, the model or the objective, and is
// filled in when the run is made (lab/run/). What a run used in the end is again a spec, its
// `resolved` one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/annealing/cooling.h"
#include "lab/spec/option.h"
#include "models/registry.h"
#include "train/likelihood.h"
#include "train/objectives/dsm.h"
#include "train/objectives/pcd.h"
#include "train/trainer.h"

namespace isinglass {

// Sampling takes this many chains and steps by default.
inline constexpr int64_t kDefaultChains = 100, kDefaultSteps = 1000;
// An annealing run that names no sampler, or has a time, takes this many steps after burn-in.
inline constexpr int64_t kDefaultAnnealedSteps = 10;
// Inpainting takes this many images by default.
inline constexpr int64_t kDefaultImages = 10;
// Steps are numbered by 32 bits.
inline constexpr double kLargestStep = 4294967295.0;

struct ImageSize {
  int64_t height = 28, width = 28;
  bool operator==(const ImageSize&) const = default;
};

struct ModelSpec {
  std::string name = {};      // Names a model of models/registry.h.
  std::string instance = {};  // Names a standard target and replaces name and weights.
  std::filesystem::path weights = {};
  std::vector<NamedFile> factors = {};  // Lists the factors of a product.
  std::optional<int64_t> sites = {}, categories = {};
  std::optional<double> penalty = {};
  std::optional<int64_t> label = {};  // Selects the class of a classifier.
  std::optional<ImageSize> image = {};
  // The sampler uses this model's gradient in place of the model's own.
  std::optional<NamedFile> gradient_model = {};
  std::optional<Bounds> bounds = {};        // Keeps continuous states in an interval.
  std::optional<double> temperature = {};   // Sets T of exp(-U/T); nullopt means 1.
  std::string gradient_precision = "auto";  // Takes auto, float32 or bf16.
};

// Holds the size of a model that has no weights yet.
struct NewModelSpec {
  std::optional<int64_t> channels = {}, hidden = {};
  std::optional<int64_t> proj = {};  // Applies to a new resnet of categorical images.
  // Takes all, grid or torus, for a new ising (models/lattice/edge_set.h).
  std::optional<std::string> edges = {};
  std::optional<std::string> head = {};  // Takes mean or linear, for a new resnet.
  // These apply to a new residual model: its base with the base's log Z and standard error, the
  // bound of its network [nats], and the network's name.
  std::optional<NamedFile> base_model = {};
  std::optional<double> base_log_z = {}, base_log_z_error = {}, bound = {};
  std::filesystem::path base_evaluation = {};  // Names the directory that log Z is taken from.
  std::optional<std::string> network = {};
};

// Names a sampler, with the given options by their names in the registry (engine/sampler.h):
// {"radius", 5.0}, {"balancing", "sqrt"}, {"adapt", true}.
struct SamplerSpec {
  std::string name = {};
  OptionValues options = {};
};

struct DataSpec {
  std::string name = {};  // Names a data set or a file.
  // Names the folder of the data sets; if empty, $ISINGLASS_DATA, else ./data.
  std::filesystem::path directory = {};
  std::optional<int64_t> levels = {};  // Applies to a file whose pixels are categories.
  // These files hold images in addition to a file of training images.
  std::filesystem::path validation = {}, test = {};
};

// This is the default of training and bench, and of all discrete states with a gradient.
inline constexpr const char* kDefaultSampler = "pafs";

// Names what restricts the states (models/conditional/restriction.h).
struct RestrictionSpec {
  std::filesystem::path fixed = {};      // Names a file of the sites that keep their values.
  std::filesystem::path allowed = {};    // Names a file of the values that sites may take.
  std::filesystem::path reference = {};  // Names a file of states,
  std::optional<int64_t> within = {};    // from which at most so many sites differ.
};

// Holds the temperatures of annealing. None are chosen from the target
// (engine/annealing/temperature_range.h).
struct AnnealSpec {
  std::optional<Temperatures> range = {};
};

struct SampleSpec {
  ModelSpec model = {};
  SamplerSpec sampler = {};
  DataSpec data = {};
  std::filesystem::path warm_start = {};  // Names the summary.json of an earlier run.
  std::optional<int64_t> chains = {};     // Defaults to 100, or to as many as `init` holds.
  int64_t burn_in = 0;
  std::optional<int64_t> steps = {};  // A grid requires it; otherwise a default applies.
  int64_t thin = 1;
  std::string init = "random";  // Takes random, data, instance or a file of states.
  RestrictionSpec restriction = {};
  std::string inpaint = {};                    // Takes upper, lower, left, right, random or a file.
  std::optional<int64_t> inpaint_images = {};  // Counts the images that are inpainted.
  std::optional<AnnealSpec> anneal = {};       // Cools the chains during burn-in.
  // An annealing run lasts for about this time [s] and chooses `burn_in`. It is nullopt in a
  // resolved spec, which holds the number of steps.
  std::optional<double> time = {};
  std::optional<int64_t> population = {};   // Counts the annealed chains resampled together.
  std::string rungs = {};                   // Gives tempering a number of rungs, or auto.
  std::optional<int64_t> exploration = {};  // Counts the local steps per scan of tempering.
  std::optional<double> lowest_beta = {};   // Sets the lowest β of the tempering ladder.
  // This is the scale of the reference at β = 0, for tempering of continuous states.
  std::optional<double> start_scale = {};
  std::optional<double> optimum = {};       // Gives the known best value of the target.
  std::string statistic = "energy";         // Selects the statistic for ESS and R̂.
  bool no_samples = false, netcdf = false;  // These choose the output beside the summary.
  std::optional<bool> cuda_graph = {};
  int64_t seed = 0;
};

struct TrainSpec {
  ModelSpec model = {};  // Gives name, image, bounds, precision, and weights to start from.
  NewModelSpec shape = {};
  DataSpec data = {};
  SamplerSpec sampler = {};
  std::string objective = "pcd";  // Takes pcd, cd, nce, dsm or classify.
  bool base = true;
  std::optional<double> base_smooth = {};  // Applies to categorical images.
  std::optional<double> l1 = {};           // Applies to an ising.
  std::optional<double> reinit = {};       // The default depends on the states.
  // If they are not given, ten quick estimates of the validation likelihood are made in a run.
  std::optional<int64_t> evaluate_every = {}, evaluate_steps = {};
  // If it is not given, the warm-up takes a tenth of the iterations, at most train.warmup.
  std::optional<int64_t> warmup = {};
  std::optional<bool> cuda_graph = {};
  std::string lr_control = "none";  // Takes none or lag.
  int64_t batch = PcdOptions().batch;
  int64_t seed = 0;
  // The members of these that are not options of the program are set when a run is assembled.
  PcdOptions pcd = {};
  DsmOptions dsm = {};
  ValidationOptions validation = {};
  TrainOptions train = {};
  std::set<std::string> given = {};  // the names of the options that were given
};

// Returns the methods that estimate log Z: ais, tempering.
const std::vector<std::string>& method_names();

// Returns upper, lower, left, right, random: the pixels that inpainting can leave out by name.
const std::vector<std::string>& mask_names();

// Returns linear, sigmoid, adaptive, in the order of Schedule (engine/annealing/schedule.h).
const std::vector<std::string>& schedule_names();

// Returns linear, joint, in the order of PathKind (engine/annealing/path.h).
const std::vector<std::string>& path_names();

struct EvaluateSpec {
  ModelSpec model = {};
  DataSpec data = {};  // If it is empty, log Z alone is estimated.
  SamplerSpec sampler = {};
  int64_t chains = AisOptions().chains;
  int64_t temperatures = AisOptions().temperatures;  // Counts the scans of tempering as well.
  std::string method = "ais";                        // Takes ais or tempering.
  RestrictionSpec restriction = {};
  std::string inpaint = {};                    // Evaluates missing pixels; as in SampleSpec.
  std::optional<int64_t> inpaint_images = {};  // Counts the images that are evaluated.
  std::string rungs = {};                      // Gives tempering a number of rungs, or auto.
  std::optional<int64_t> exploration = {};     // Counts the local steps per scan of tempering.
  // Sets the scale of the reference at β = 0, for continuous states.
  std::optional<double> start_scale = {};
  std::string schedule = {};  // Selects the schedule of annealing.
  std::string path = {};
  // Anneals back from the model, too. If it is not given, annealing does so.
  std::optional<bool> reverse = {};
  std::string reverse_from = {};     // Takes exact, chains, tempering, auto or a file of states.
  double bracket = kLargestBracket;  // [nats]
  double until_closed = 0;           // [s]; 0 means a single round.
  std::optional<bool> cuda_graph = {};
  int64_t seed = 0;
};

// Returns the names of the stages that `isinglass bench` can time, in the order of its report.
// lab/bench/stages.h describes them.
const std::vector<std::string>& stage_names();

struct BenchSpec {
  ModelSpec model = {};
  NewModelSpec shape = {};
  SamplerSpec sampler = {};
  int64_t chains = 100;
  int64_t burn_in = 0;
  int64_t steps_per_iteration = 10;
  int64_t rungs = 10;  // The chains form tempering ensembles of this many rungs.
  std::optional<int64_t> exploration = {};  // Counts the local steps per scan of tempering.
  int64_t warm_up = 2, repeats = 7;         // These count rounds.
  std::string stages = {};                  // Lists stages with commas; empty means all.
  std::optional<bool> cuda_graph = {};
  int64_t seed = 0;
};

struct EnergySpec {
  ModelSpec model = {};
  std::filesystem::path states = {};
};

struct GridSpec {
  std::filesystem::path file = {};  // Either this or a preset is given.
  std::string preset = {};
  double scale = 1;     // Multiplies chains, steps, burn-in and training iterations by √scale.
  int64_t repeats = 0;  // Counts the repeats of every cell; 0 means as in the grid.
  // A cell is run again until R̂ is small enough, for at most this time [s].
  double until_converged = 0;
  std::filesystem::path weights = {};  // Replaces training.
  std::filesystem::path cache = {};    // Names the folder of trained models.
  DataSpec data = {};                  // Replaces the grid's own data.
  int64_t seed = 0;                    // Seeds the first repeat.
};

}  // namespace isinglass
