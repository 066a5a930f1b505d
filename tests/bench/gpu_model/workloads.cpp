// Implements the workloads.
#include "tests/bench/gpu_model/workloads.h"

#include "engine/annealing/ais.h"
#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "io/torch.h"
#include "models/instances/instances.h"
#include "models/registry.h"
#include "tests/bench/gpu_model/played_device.h"
#include "train/likelihood.h"
#include "train/objectives/pcd_objective.h"
#include "train/trainer.h"

namespace isinglass {
namespace {

constexpr uint64_t kSeed = 1;

using Model = std::shared_ptr<EnergyModel>;
using Options = SamplerOptions;

Model resnet() {
  const Model model = new_model("resnet", {.channels = 64}, kSeed);
  model->to(kGpu);
  return model;
}

Model rbm() {
  const Model model = new_model("rbm", {.hidden = 500}, kSeed);
  model->to(kGpu);
  return model;
}

std::function<Model()> instance(const std::string& text) {
  return [text] {
    const Model model = make_instance(text);
    model->to(kGpu);
    return model;
  };
}

// Returns the FLOPs per step and chain, as `isinglass bench` counts them.
double flops_of(const EnergyModel& model, const Sampler& sampler) {
  const FlopCounts flops = model.flops();
  if (!sampler.is_metropolis() || sampler.needs() == Needs::kDifferences) return 0;
  return sampler.needs() == Needs::kGradient ? flops.state_gradient : flops.energy;
}

std::function<Work(int64_t)> steps(std::function<Model()> make, const std::string& name,
                                   const Options& options) {
  return [=](int64_t chains) {
    const Model model = make();
    const std::shared_ptr<Sampler> sampler = make_sampler(name, options, *model);
    const torch::Tensor ids = torch::arange(chains, torch::TensorOptions(torch::kInt64)).to(kGpu);
    auto state = std::make_shared<ChainState>(
        sampler->init(*model, random_states(model->space(), ids, kSeed, kGpu), ids));
    auto params = std::make_shared<StepParams>(sampler->params(kSeed, kGpu));
    // Other models make the same launches for every step of a call.
    const int64_t at_once = model->as_lattice() ? sampler->steps_at_once(*state) : 1;
    return Work{[=](int64_t n) {
                  if (at_once > 1) {
                    sampler->steps(*model, *state, *params, n);
                  } else {
                    sampler->step(*model, *state, *params);
                  }
                },
                at_once, flops_of(*model, *sampler)};
  };
}

Work annealing(int64_t chains) {
  const Model model = resnet();
  const std::shared_ptr<Sampler> sampler = make_sampler("pafs", {.radius = 5}, *model);
  const auto start = std::make_shared<Factorised>(annealing_start(*model, nullptr, kGpu));
  const auto run = std::make_shared<AnnealedImportanceSampling>(
      *model, *sampler, *start,
      AisOptions{.chains = chains, .temperatures = 1000000, .seed = kSeed}, kGpu);
  return {[run, model, sampler, start](int64_t) { run->step(); }, 1, flops_of(*model, *sampler)};
}

constexpr int64_t kTrainingSteps = 10;

// An iteration of persistent contrastive divergence, with as many images as chains.
Work training(int64_t chains) {
  const Model model = resnet();
  const std::shared_ptr<Sampler> sampler = make_sampler("pafs", {.radius = 5}, *model);
  const torch::Tensor ids = torch::arange(chains, torch::TensorOptions(torch::kInt64));
  Dataset data;
  data.name = "random";
  data.height = data.width = 28;
  data.train = random_states(model->space(), ids, kSeed, torch::kCPU);
  auto objective = std::make_unique<PcdObjective>(
      *model, *sampler, data,
      PcdOptions{.batch = chains, .buffer = chains, .steps = kTrainingSteps},
      TrainOptions().iterations, kGpu);
  const auto trainer = std::make_shared<Trainer>(model, std::move(objective), TrainOptions{});
  // The chains' first evaluation and their steps; the loss, at the data and at the chains.
  const FlopCounts flops = model->flops();
  const double all = (kTrainingSteps + 1) * flops.state_gradient + 2 * flops.parameter_gradient;
  return {[trainer, sampler](int64_t) { trainer->iterate(); }, 1, all};
}

std::vector<Workload> lattice(const std::string& side, int64_t chains, int64_t few) {
  const auto ising = instance("ising-grid:side=" + side);
  const std::string name = "ising-" + side, size = side + "×" + side;
  // The number of chains from which neighbourhoods are looked up. Large lattices look them up for
  // any number, and the first chains find few of their rows in the table.
  constexpr int64_t kTabulated = 512;
  const int64_t swept = chains >= kTabulated ? kTabulated : 2 * few;
  return {
      {name + "/gwg", "Ising " + size + ", a GWG step", chains, few, steps(ising, "gwg", {})},
      {name + "/pafs-5", "Ising " + size + ", a PAFS step of R = 5", chains, few,
       steps(ising, "pafs", {.radius = 5})},
      {name + "/lbj", "Ising " + size + ", an LBJ step", chains, few,
       steps(ising, "lbj", {.tau = 0.1})},
      {name + "/chromatic", "Ising " + size + ", a chromatic Gibbs sweep", chains, swept,
       steps(ising, "gibbs", {.scan = Scan::kChromatic})},
  };
}

std::vector<Workload> all() {
  std::vector<Workload> found = {
      {"resnet-64/gwg", "ResNet-64, a GWG step", 100, 2, steps(resnet, "gwg", {})},
      {"resnet-64/pafs-5", "ResNet-64, a PAFS step of R = 5", 100, 2,
       steps(resnet, "pafs", {.radius = 5})},
      {"resnet-64/ais", "ResNet-64, a step of AIS by PAFS of R = 5", 100, 2, annealing},
      {"resnet-64/training", "ResNet-64, a training iteration of 10 PAFS steps", 100, 2, training,
       "resnet-64/pafs-5", kTrainingSteps},
  };
  for (const Workload& w : lattice("50", 4096, 4)) found.push_back(w);
  for (const Workload& w : lattice("1024", 100, 2)) found.push_back(w);
  const std::vector<Workload> rest = {
      {"rbm-500/pafs-5", "RBM 784×500, a PAFS step of R = 5", 100, 4,
       steps(rbm, "pafs", {.radius = 5})},
      {"rbm-500/lbj", "RBM 784×500, an LBJ step", 100, 4, steps(rbm, "lbj", {.tau = 0.1})},
      {"rbm-500/sweep", "RBM 784×500, a Gibbs sweep", 100, 8,
       steps(rbm, "gibbs", {.scan = Scan::kChromatic})},
      {"mixture/fhl", "misled-mixture, an FHL step of 8 leapfrogs, groups of 4", 100, 8,
       steps(instance("misled-mixture"), "fhl", {.leapfrog = 8, .group = 4})},
  };
  found.insert(found.end(), rest.begin(), rest.end());
  return found;
}

}  // namespace

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> found = all();
  return found;
}

}  // namespace isinglass
