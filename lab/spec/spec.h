// What a run is to be, as plain values: the command line, the cells of a grid, configuration files
// and other programs fill the same structures. An optional that is empty, an empty name and an
// empty path say nothing: the default is then the sampler's, the model's or the objective's own,
// and is found when the run is made (lab/run/). What a run used in the end is a spec again, its
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

inline constexpr int64_t kDefaultChains = 100;        // of sampling
inline constexpr double kLargestStep = 4294967295.0;  // steps are numbered by 32 bits

struct ImageSize {
  int64_t height = 28, width = 28;
  bool operator==(const ImageSize&) const = default;
};

struct ModelSpec {
  std::string name = {};      // of models/registry.h
  std::string instance = {};  // a standard target in place of name and weights
  std::filesystem::path weights = {};
  std::vector<NamedFile> factors = {};  // of a product
  std::optional<int64_t> sites = {}, categories = {};
  std::optional<double> penalty = {};
  std::optional<int64_t> label = {};  // the class of a classifier
  std::optional<ImageSize> image = {};
  std::optional<NamedFile> gradient_model = {};  // whose gradient the sampler uses in its place
  std::string gradient_precision = "auto";       // float32, bf16
};

// A model without weights yet.
struct NewModelSpec {
  std::optional<int64_t> channels = {}, hidden = {};
  std::optional<int64_t> proj = {};  // of a new resnet of categorical images
  std::optional<std::string> edges =
      {};  // of a new ising: all, grid, torus (models/lattice/edge_set.h)
};

// A sampler by name, with the options that are said, by their names in the registry
// (engine/sampler.h): {"radius", 5.0}, {"balancing", "sqrt"}, {"adapt", true}.
struct SamplerSpec {
  std::string name = {};
  OptionValues options = {};
};

struct DataSpec {
  std::string name = {};                 // of a data set, or a file
  std::filesystem::path directory = {};  // of the data sets; empty: $ISINGLASS_DATA, else ./data
  std::optional<int64_t> levels = {};    // of a file whose pixels are categories
  std::filesystem::path validation = {}, test = {};  // images beside a file of training images
};

inline constexpr const char* kDefaultSampler = "pafs";  // of training, evaluation and bench
inline constexpr const char* kDefaultContinuousSampler = "hmc";  // of evaluation

struct SampleSpec {
  ModelSpec model = {};
  SamplerSpec sampler = {};
  DataSpec data = {};
  std::filesystem::path warm_start = {};  // summary.json of an earlier run
  std::optional<int64_t> chains = {};     // 100, or as many as `init` holds
  int64_t burn_in = 0;
  std::optional<int64_t> steps = {};  // required
  int64_t thin = 1;
  std::string init = "random";              // or data, instance, a file of states
  std::optional<Temperatures> anneal = {};  // cooling in burn-in
  std::string rungs = {};                   // of tempering: their number, or auto
  std::optional<int64_t> exploration = {};  // of tempering: local steps a scan
  std::optional<double> lowest_beta = {};   // of tempering: where the ladder begins
  std::optional<double> start_scale = {};   // of tempering continuous states: beta = 0
  std::optional<double> optimum = {};       // of a graph problem
  std::string statistic = "energy";         // of ESS and R̂
  bool no_samples = false, netcdf = false;  // what is written beside the summary
  std::optional<bool> cuda_graph = {};
  int64_t seed = 0;
};

struct TrainSpec {
  ModelSpec model = {};  // name, image, gradient_precision and weights to start from
  NewModelSpec shape = {};
  DataSpec data = {};
  SamplerSpec sampler = {};
  std::string objective = "pcd";  // or cd, dsm, classify
  // Of training by chains.
  std::optional<bool> base = {}, centre = {}, cuda_graph = {};
  std::optional<int64_t> steps = {}, buffer = {}, rungs = {}, fresh = {}, fresh_iterations = {};
  std::optional<double> l1 = {}, l2 = {}, p_control = {}, reinit = {};
  std::optional<double> base_smooth = {};  // of categorical images
  std::optional<int64_t> evaluate_every = {}, evaluate_steps = {};
  std::optional<double> noise = {};  // of score matching
  int64_t batch = PcdOptions().batch;
  int64_t iterations = TrainOptions().iterations;
  double learning_rate = TrainOptions().learning_rate;
  int64_t warmup = TrainOptions().warmup;
  std::string rate_schedule = name_of(TrainOptions().schedule);  // train/optimiser/learning_rate.h
  std::optional<double> end_rate = {}, clip = {};
  double weight_decay = TrainOptions().weight_decay;
  int64_t recover = TrainOptions().recover;
  double ema = TrainOptions().ema;
  int64_t checkpoint_every = TrainOptions().checkpoint_every;
  int64_t seed = 0;
};

// ais, tempering: how log Z is estimated.
const std::vector<std::string>& method_names();

// linear, sigmoid, adaptive: in the order of Schedule (engine/annealing/schedule.h).
const std::vector<std::string>& schedule_names();

// linear, joint: in the order of PathKind (engine/annealing/path.h).
const std::vector<std::string>& path_names();

struct EvaluateSpec {
  ModelSpec model = {};
  DataSpec data = {};  // none: log Z alone
  SamplerSpec sampler = {};
  int64_t chains = AisOptions().chains;
  int64_t temperatures = AisOptions().temperatures;  // or scans
  std::string method = "ais";                        // or tempering
  std::string rungs = {};                            // of tempering: a number, or auto
  std::optional<int64_t> exploration = {};           // of tempering: local steps a scan
  std::optional<double> start_scale = {};            // of continuous states: beta = 0
  std::string schedule = {};                         // of annealing
  std::string path = {};
  bool reverse = false;
  std::string reverse_from = {};     // exact, chains, tempering, auto or a file of states
  double bracket = kLargestBracket;  // nats
  double until_closed = 0;           // seconds; 0: one annealing
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
  int64_t rungs = 10;                       // of tempering, which the chains divide into ensembles
  std::optional<int64_t> exploration = {};  // of tempering: local steps a scan
  int64_t warm_up = 2, repeats = 7;         // rounds
  std::string stages = {};                  // with commas; empty: all that there are
  std::optional<bool> cuda_graph = {};
  int64_t seed = 0;
};

struct EnergySpec {
  ModelSpec model = {};
  std::filesystem::path states = {};
};

struct GridSpec {
  std::filesystem::path file = {};  // this or a preset
  std::string preset = {};
  double scale = 1;            // chains, steps, burn-in and training iterations times √scale
  int64_t repeats = 0;         // of every cell; 0: as many as the grid says
  double until_converged = 0;  // seconds of a cell at most that is run again until R̂ suffices
  std::filesystem::path weights = {};  // in place of training
  std::filesystem::path cache = {};    // where trained models are kept
  DataSpec data = {};                  // in place of the grid's own
  int64_t seed = 0;                    // of the first repeat
};

}  // namespace isinglass
