// Holds the specification of a run as plain values. The command line, the cells of a grid,
// configuration files and other programs fill the same structures. An empty optional, name or path
// means "not given": the default then belongs to the sampler, the model or the objective, and is
// filled in when the run is made (lab/run/). What a run used in the end is again a spec, its
// `resolved` one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/annealing/cooling.h"
#include "lab/spec/option.h"
#include "models/registry.h"
#include "train/likelihood.h"
#include "train/objectives/pcd.h"
#include "train/trainer.h"

namespace isinglass {

inline constexpr int64_t kDefaultChains = 100;  // default of sampling
// Steps are numbered by 32 bits.
inline constexpr double kLargestStep = 4294967295.0;

struct ImageSize {
  int64_t height = 28, width = 28;
  bool operator==(const ImageSize&) const = default;
};

struct ModelSpec {
  std::string name = {};      // a name in models/registry.h
  std::string instance = {};  // a standard target in place of name and weights
  std::filesystem::path weights = {};
  std::vector<NamedFile> factors = {};  // factors of a product
  std::optional<int64_t> sites = {}, categories = {};
  std::optional<double> penalty = {};
  std::optional<int64_t> label = {};  // class of a classifier
  std::optional<ImageSize> image = {};
  // The sampler uses this model's gradient in place of the model's own.
  std::optional<NamedFile> gradient_model = {};
  std::string gradient_precision = "auto";  // or float32, bf16
};

// Holds the size of a model that has no weights yet.
struct NewModelSpec {
  std::optional<int64_t> channels = {}, hidden = {};
  std::optional<int64_t> proj = {};  // for a new resnet of categorical images
  std::optional<std::string> edges =
      {};  // for a new ising: all, grid, torus (models/lattice/edge_set.h)
};

// Names a sampler, with the given options by their names in the registry (engine/sampler.h):
// {"radius", 5.0}, {"balancing", "sqrt"}, {"adapt", true}.
struct SamplerSpec {
  std::string name = {};
  OptionValues options = {};
};

struct DataSpec {
  std::string name = {};  // name of a data set, or a file
  // The folder of the data sets. If it is empty, it is $ISINGLASS_DATA, else ./data.
  std::filesystem::path directory = {};
  std::optional<int64_t> levels = {};  // levels of a file whose pixels are categories
  // These files hold images in addition to a file of training images.
  std::filesystem::path validation = {}, test = {};
};

inline constexpr const char* kDefaultSampler = "pafs";  // for training, evaluation and bench
inline constexpr const char* kDefaultContinuousSampler = "hmc";  // for evaluation

struct SampleSpec {
  ModelSpec model = {};
  SamplerSpec sampler = {};
  DataSpec data = {};
  std::filesystem::path warm_start = {};  // summary.json of an earlier run
  std::optional<int64_t> chains = {};     // default: 100, or as many as `init` holds
  int64_t burn_in = 0;
  std::optional<int64_t> steps = {};  // required
  int64_t thin = 1;
  std::string init = "random";              // or data, instance, a file of states
  std::optional<Temperatures> anneal = {};  // cooling during burn-in
  std::string rungs = {};                   // rungs of tempering: a number, or auto
  std::optional<int64_t> exploration = {};  // tempering: local steps per scan
  std::optional<double> lowest_beta = {};   // tempering: lowest β of the ladder
  // This is the scale of the reference at β = 0, for tempering of continuous states.
  std::optional<double> start_scale = {};
  std::optional<double> optimum = {};       // optimum of a graph problem
  std::string statistic = "energy";         // statistic for ESS and R̂
  bool no_samples = false, netcdf = false;  // output in addition to the summary
  std::optional<bool> cuda_graph = {};
  int64_t seed = 0;
};

struct TrainSpec {
  ModelSpec model = {};  // name, image, gradient_precision, and weights to start from
  NewModelSpec shape = {};
  DataSpec data = {};
  SamplerSpec sampler = {};
  std::string objective = "pcd";  // or cd, dsm, classify
  // The following options are for training with chains.
  std::optional<bool> base = {}, centre = {}, cuda_graph = {};
  std::optional<int64_t> steps = {}, buffer = {}, rungs = {}, fresh = {}, fresh_iterations = {};
  std::optional<double> l1 = {}, l2 = {}, p_control = {}, reinit = {};
  std::optional<double> base_smooth = {};  // for categorical images
  std::optional<int64_t> evaluate_every = {}, evaluate_steps = {};
  std::optional<double> noise = {};  // for score matching
  int64_t batch = PcdOptions().batch;
  int64_t iterations = TrainOptions().iterations;
  double learning_rate = TrainOptions().learning_rate;
  int64_t warmup = TrainOptions().warmup;
  // The names are those of train/optimiser/learning_rate.h.
  std::string rate_schedule = name_of(TrainOptions().schedule);
  std::optional<double> end_rate = {}, clip = {};
  double weight_decay = TrainOptions().weight_decay;
  int64_t recover = TrainOptions().recover;
  double ema = TrainOptions().ema;
  int64_t checkpoint_every = TrainOptions().checkpoint_every;
  int64_t seed = 0;
};

// Returns the methods that estimate log Z: ais, tempering.
const std::vector<std::string>& method_names();

// Returns linear, sigmoid, adaptive, in the order of Schedule (engine/annealing/schedule.h).
const std::vector<std::string>& schedule_names();

// Returns linear, joint, in the order of PathKind (engine/annealing/path.h).
const std::vector<std::string>& path_names();

struct EvaluateSpec {
  ModelSpec model = {};
  DataSpec data = {};  // empty: log Z alone
  SamplerSpec sampler = {};
  int64_t chains = AisOptions().chains;
  int64_t temperatures = AisOptions().temperatures;  // or scans
  std::string method = "ais";                        // or tempering
  std::string rungs = {};                            // rungs of tempering: a number, or auto
  std::optional<int64_t> exploration = {};           // tempering: local steps per scan
  std::optional<double> start_scale = {};  // continuous states: scale of the reference at β = 0
  std::string schedule = {};               // schedule of annealing
  std::string path = {};
  bool reverse = false;
  std::string reverse_from = {};     // exact, chains, tempering, auto or a file of states
  double bracket = kLargestBracket;  // [nats]
  double until_closed = 0;           // [s]; 0: a single round
  std::optional<bool> cuda_graph = {};
  int64_t seed = 0;
};

struct BenchSpec {
  ModelSpec model = {};
  NewModelSpec shape = {};
  SamplerSpec sampler = {};
  int64_t chains = 100;
  int64_t burn_in = 0;
  int64_t steps_per_iteration = 10;
  int64_t rungs = 10;  // rungs of tempering; the chains form ensembles of this many
  std::optional<int64_t> exploration = {};  // tempering: local steps per scan
  int64_t warm_up = 2, repeats = 7;         // numbers of rounds
  std::string stages = {};                  // separated by commas; empty: all that exist
  std::optional<bool> cuda_graph = {};
  int64_t seed = 0;
};

struct EnergySpec {
  ModelSpec model = {};
  std::filesystem::path states = {};
};

struct GridSpec {
  std::filesystem::path file = {};  // either this or a preset
  std::string preset = {};
  double scale = 1;     // factor √scale for chains, steps, burn-in and training iterations
  int64_t repeats = 0;  // repeats of every cell; 0: as in the grid
  // A cell is run again until R̂ is small enough, for at most this time [s].
  double until_converged = 0;
  std::filesystem::path weights = {};  // replaces training
  std::filesystem::path cache = {};    // folder of trained models
  DataSpec data = {};                  // replaces the grid's own
  int64_t seed = 0;                    // seed of the first repeat
};

}  // namespace isinglass
