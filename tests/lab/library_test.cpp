// The library without the program: specs are filled, and a program other than `isinglass` samples,
// trains and evaluates, twice in one process, without changing global state.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "io/pt/pt_file.h"
#include "lab/evaluation/likelihood_evaluation.h"
#include "lab/run/sampling.h"
#include "lab/run/training.h"
#include "tests/support/inputs.h"
#include "tests/support/scratch.h"

namespace isinglass::library_test {
namespace {

torch::Tensor generator_state() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  return generator.get_state();
}

struct GlobalState {
  torch::Tensor generator = generator_state();
  bool tf32_convolutions = at::globalContext().allowTF32CuDNN();
  bool tf32_products = at::globalContext().allowTF32CuBLAS();
  int threads = at::get_num_threads();
  bool gradients = at::GradMode::is_enabled();
  std::filesystem::path directory = std::filesystem::current_path();

  void expect_same(const GlobalState& other) const {
    EXPECT_TRUE(torch::equal(generator, other.generator)) << "LibTorch's generator";
    EXPECT_EQ(tf32_convolutions, other.tf32_convolutions);
    EXPECT_EQ(tf32_products, other.tf32_products);
    EXPECT_EQ(threads, other.threads);
    EXPECT_EQ(gradients, other.gradients);
    EXPECT_EQ(directory, other.directory);
  }
};

struct Results {
  torch::Tensor draws, energy, adapted;
  NamedTensors parameters;
  double log_z = 0;
  torch::Tensor annealed;
  std::vector<SplitLikelihood> splits;
};

void sample(int64_t seed, Results& results) {
  Sampling sampling({.model = {.instance = "ising-grid:side=6,coupling=0.3"},
                     .sampler = {"lbj", {{"adapt", true}}},
                     .chains = 8,
                     .burn_in = 30,
                     .steps = 40,
                     .thin = 2,
                     .seed = seed},
                    {.device = torch::kCPU});
  EXPECT_EQ(sampling.spec().model.name, "ising");  // the run's own spec has what this one left open
  EXPECT_TRUE(sampling.spec().sampler.options.contains("tau"));
  Recorder recorder = sampling.recorder(/*keep_samples=*/true);
  sampling.run(recorder, {});
  EXPECT_EQ(recorder.made(), 20);
  results.draws = recorder.samples().clone();
  results.energy = recorder.energy().clone();
  results.adapted =
      torch::tensor(sampling.summary(recorder)["adapted"]["tau"].get<double>(), torch::kFloat64);
}

void train(int64_t seed, const DataSpec& data, const std::filesystem::path& directory,
           Results& results) {
  Training training({.model = {.name = "rbm"},
                     .shape = {.hidden = 4},
                     .data = data,
                     .sampler = {"pafs", {{"radius", 3.0}}},
                     .batch = 10,
                     .seed = seed,
                     .pcd = {.buffer = 20, .steps = 2},
                     .train = {.iterations = 10, .warmup = 0}},
                    {.device = torch::kCPU});
  training.trainer().start(directory);
  const TrainResult trained = training.trainer().run();
  EXPECT_EQ(trained.iteration, 10);
  EXPECT_FALSE(trained.interrupted);
  results.parameters = read_named_tensors(directory / "ema.pt");
}

void evaluate(int64_t seed, const DataSpec& data, const std::filesystem::path& directory,
              Results& results) {
  LikelihoodEvaluation evaluation({.model = {.name = "rbm", .weights = directory / "ema.pt"},
                                   .data = data,
                                   .sampler = {"pafs"},
                                   .chains = 6,
                                   .temperatures = 10,
                                   .seed = seed},
                                  {.device = torch::kCPU});
  EXPECT_TRUE(evaluation.run(directory / "ais-checkpoint.pt"));
  EXPECT_EQ(evaluation.json()["steps"], 10);
  results.log_z = evaluation.estimate().log_z().forward;
  const PtDict chains = evaluation.estimate().chains();
  results.annealed = std::get<torch::Tensor>(chains.front().second.value);
  results.splits = evaluation.splits();
}

Results everything(int64_t seed) {
  const Scratch scratch;
  const DataSpec data{.name = scratch / "bars.pt"};
  write_pt(data.name, PtValue{bars()});
  Results results;
  sample(seed, results);
  train(seed, data, scratch / "run", results);
  evaluate(seed, data, scratch / "run", results);
  return results;
}

bool same_bits(const Results& a, const Results& b) {
  bool same = torch::equal(a.draws, b.draws) && torch::equal(a.energy, b.energy) &&
              torch::equal(a.adapted, b.adapted) && a.parameters.size() == b.parameters.size() &&
              a.log_z == b.log_z && torch::equal(a.annealed, b.annealed) &&
              a.splits.size() == b.splits.size();
  for (size_t i = 0; same && i < a.parameters.size(); ++i) {
    same = a.parameters[i].first == b.parameters[i].first &&
           torch::equal(a.parameters[i].second, b.parameters[i].second);
  }
  for (size_t i = 0; same && i < a.splits.size(); ++i) {
    same = a.splits[i].quoted == b.splits[i].quoted;
  }
  return same;
}

TEST(LibraryAlone, RunsTwiceInOneProcessAndTouchesNothingGlobal) {
  const GlobalState before;
  const Results first = everything(1), second = everything(2), again = everything(1);
  before.expect_same(GlobalState());
  EXPECT_TRUE(same_bits(first, again));
  EXPECT_FALSE(torch::equal(first.draws, second.draws));
  EXPECT_NE(first.log_z, second.log_z);
  EXPECT_FALSE(torch::equal(first.parameters[0].second, second.parameters[0].second));
  for (const SplitLikelihood& split : first.splits) EXPECT_TRUE(std::isfinite(split.quoted));
}

// The state of the generator has no influence either.
TEST(LibraryAlone, DoesNotReadLibTorchsGenerator) {
  const Results first = everything(3);
  torch::rand({17});
  const Results again = everything(3);
  EXPECT_TRUE(same_bits(first, again));
}

// Error messages for users of the library have option names, not flags.
TEST(LibraryAlone, ErrorsNameOptions) {
  const auto message = [](SampleSpec spec) {
    try {
      Sampling(std::move(spec), {.device = torch::kCPU});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  SampleSpec spec{.model = {.instance = "ising-grid:side=4,coupling=0.3"}, .sampler = {"gwg"}};
  spec.steps = 10;
  spec.thin = 11;
  EXPECT_EQ(message(spec), "thin is 11, but it must be at most steps, which is 10");
  spec.thin = 1;
  spec.sampler.options["scan"] = "random";
  EXPECT_TRUE(message(spec).starts_with("scan is not an option of gwg")) << message(spec);
}

}  // namespace
}  // namespace isinglass::library_test
