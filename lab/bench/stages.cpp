// Implements the stages of the bench.
#include "lab/bench/stages.h"

#include <ATen/ops/mm.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/annealing/ais.h"
#include "engine/annealing/tempered_model.h"
#include "engine/run/clock.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "engine/run/step_graph.h"
#include "io/error.h"
#include "train/likelihood.h"
#include "train/objectives/pcd_objective.h"

namespace isinglass {
namespace {

constexpr int64_t kCopyFloats = int64_t{1} << 26;
// Annealing has more temperatures than any measurement passes.
constexpr int64_t kTemperatures = 1000000;
constexpr int64_t kTrainingImages = 1000;
// One trainer makes at most this many iterations. It would report divergence if the energies of
// random images stayed far from those of the chains for longer.
constexpr int64_t kIterations = 50;

double bytes_of(const std::vector<torch::Tensor>& tensors) {
  double sum = 0;
  for (const torch::Tensor& t : tensors) sum += t.defined() ? static_cast<double>(t.nbytes()) : 0;
  return sum;
}

// Wraps a model and clocks what a step does between its model calls.
class ClockedModel : public EnergyModel, public HasEnergyDifferences {
 public:
  struct StepSeconds {
    double proposal, acceptance;
  };

  ClockedModel(EnergyModel& target, torch::Device device) : target_(target), device_(device) {}

  std::string kind_name() const override { return target_.kind_name(); }
  StateSpace space() const override { return target_.space(); }
  bool differentiable() const override { return target_.differentiable(); }
  torch::Tensor energy(const torch::Tensor& x) override { return target_.energy(x); }

  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override {
    outside([&] { target_.evaluate_energy(x, out); });
  }
  void evaluate(const torch::Tensor& x, Evaluation& out) override {
    outside([&] { target_.evaluate(x, out); });
  }
  void evaluate_moved(const torch::Tensor& x, const Evaluation& at_x, const torch::Tensor& y,
                      bool gradient, Evaluation& out) override {
    outside([&] { target_.evaluate_moved(x, at_x, y, gradient, out); });
  }
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override {
    outside([&] { difference_calls_ = isinglass::evaluate_differences(target_, x, out); });
  }
  int64_t difference_calls() const override { return difference_calls_; }

  StepSeconds clock(const std::function<void()>& step) {
    proposal_ = 0;
    since_ = synchronised_seconds(device_);
    step();
    return {proposal_, synchronised_seconds(device_) - since_};
  }

 private:
  void outside(const std::function<void()>& call) {
    proposal_ += synchronised_seconds(device_) - since_;
    call();
    since_ = synchronised_seconds(device_);
  }

  EnergyModel& target_;
  torch::Device device_;
  int64_t difference_calls_ = 1;
  double proposal_ = 0, since_ = 0;
};

// Holds chains that advance with every step that is timed.
struct MovingChains {
  ChainState state;
  StepParams params;
  int64_t evaluations;  // Counts the model calls of the latest step.
  const Sampler& sampler;
  StepGraph graph;

  void step(EnergyModel& model) { evaluations = graph.step(model, state, params).evaluations; }

  // Makes n steps, as many in one call as the sampler takes at once.
  void steps(EnergyModel& model, int64_t n) {
    const int64_t at_once = sampler.steps_at_once(state);
    for (; n > 0; n -= at_once) {
      if (at_once > 1) {
        sampler.steps(model, state, params, std::min(n, at_once));
      } else {
        step(model);
      }
    }
  }
};

std::shared_ptr<MovingChains> moving_chains(const BenchSubject& s, EnergyModel& model,
                                            const Sampler& sampler, int64_t count,
                                            bool cuda_graph) {
  const torch::Tensor ids =
      torch::arange(count, torch::TensorOptions(torch::kInt64).device(s.device));
  auto chains = std::make_shared<MovingChains>(
      MovingChains{sampler.init(model, random_states(model.space(), ids, s.seed, s.device), ids),
                   sampler.params(s.seed, s.device), 0, sampler, StepGraph(sampler, cuda_graph)});
  run(model, sampler, chains->state, chains->params, {.burn_in = s.burn_in}, {},
      {.device = s.device, .stop = s.stop});
  chains->step(model);
  Evaluation again;
  s.model.evaluate_energy(chains->state.x, again);
  TORCH_CHECK(torch::allclose(again.energy, chains->state.current.energy, 1e-5, 1e-5),
              "the energies that a sampler step has stored differ from the energies of its states");
  return chains;
}

// Returns random binary images. The times do not depend on what is learned from them.
Dataset random_images(const BenchSubject& s) {
  Dataset data;
  data.name = "random images";
  data.train = random_states(s.model.space(), torch::arange(kTrainingImages), s.seed, torch::kCPU);
  data.height = s.image_height;
  data.width = s.image_width;
  data.validation = data.test = data.train.narrow(0, 0, 0);
  return data;
}

std::unique_ptr<Objective> contrastive(const BenchSubject& s, const Dataset& data) {
  const PcdOptions options{.batch = s.chains,
                           .buffer = std::max(PcdOptions().buffer, s.chains),
                           .steps = s.steps_per_iteration,
                           .seed = s.seed,
                           .cuda_graph = s.cuda_graph};
  return std::make_unique<PcdObjective>(*s.trained, s.sampler, data, options,
                                        TrainOptions().iterations, s.device);
}

// Returns the message of the error with which the start or the sampler refuses the annealed energy.
std::optional<std::string> annealing_obstacle(const BenchSubject& s) try {
  const torch::Tensor id = torch::zeros({1}, torch::TensorOptions(torch::kInt64).device(s.device));
  const Factorised start = annealing_start(s.model, nullptr, s.device);
  TemperedModel annealed(s.model, &start, s.device);
  const std::unique_ptr<Sampler> remade = s.sampler.for_model(annealed);
  (remade ? *remade : s.sampler).init(annealed, start.sample(id, s.seed), id);
  return std::nullopt;
} catch (const Error& error) {
  return error.what();
}

// Returns why the model, the sampler or the number of chains does not allow tempering.
std::optional<std::string> tempering_obstacle(const BenchSubject& s) try {
  if (s.chains % s.rungs != 0) {
    return fmt::format("`chains` {} is not a multiple of `rungs` {}", s.chains, s.rungs);
  }
  s.tempering();
  return std::nullopt;
} catch (const Error& error) {
  return error.what();
}

class StageMaker {
 public:
  explicit StageMaker(const BenchSubject& subject) : s_(subject) {}

  Stage make(const std::string& name) {
    if (name == "copy") return copy();
    if (name.starts_with("sgemm-")) return sgemm(std::stoll(name.substr(6)), name);
    if (name == "training-iteration") return training_iteration();
    if (name == "ais-step") return ais_step();
    if (name == "scan") return scan();
    if (!chains_) chains_ = moving_chains(s_, s_.model, s_.sampler, s_.chains, s_.cuda_graph);
    if (name == "proposal" || name == "acceptance") return part_of_step(name);
    return name == "step" ? step() : model_call(name);
  }

 private:
  double per_state(double flops) const { return flops * static_cast<double>(s_.chains); }

  // Counts one model call of the sampler. Energy differences count as 0, as they come from no
  // matrix product.
  double call_flops() const {
    const FlopCounts flops = s_.model.flops();
    if (s_.sampler.needs() == Needs::kDifferences) return 0;
    return per_state(s_.sampler.needs() == Needs::kGradient ? flops.state_gradient : flops.energy);
  }

  double call_bytes(const torch::Tensor& table) const {
    const ChainState& state = chains_->state;
    return bytes_of({state.x, state.current.energy, table}) + bytes_of(s_.model.parameters()) +
           bytes_of(s_.model.buffers());
  }

  // Returns the gradient or the differences that the sampler reads at every state.
  torch::Tensor sampler_table() const {
    const Evaluation& e = chains_->state.current;
    return e.gradient.defined() ? e.gradient : e.differences;
  }

  Stage model_call(const std::string& name) {
    const auto out = std::make_shared<Evaluation>();
    const auto call = [name, out, chains = chains_, &model = s_.model] {
      const torch::Tensor& x = chains->state.x;
      if (name == "energy") model.evaluate_energy(x, *out);
      if (name == "energy-gradient") model.evaluate(x, *out);
      if (name == "energy-differences") evaluate_differences(model, x, *out);
    };
    call();
    const FlopCounts flops = s_.model.flops();
    double count = 0;
    if (name == "energy") count = flops.energy;
    if (name == "energy-gradient") count = flops.state_gradient;
    const torch::Tensor& table = out->gradient.defined() ? out->gradient : out->differences;
    return {name, timed(s_.device, call), per_state(count), call_bytes(table)};
  }

  double part_bytes(const std::string& name) const {
    const ChainState& state = chains_->state;
    if (name == "proposal") return bytes_of({state.x, sampler_table(), state.workspace.y});
    const torch::Tensor table = sampler_table();
    return table.defined() ? bytes_of({state.workspace.y, table}) : 0;
  }

  Stage part_of_step(const std::string& name) {
    if (!clocked_) {
      clocked_ = std::make_shared<ClockedModel>(s_.model, s_.device);
      clocked_sampler_ = s_.sampler.for_model(*clocked_);
      clocked_chains_ =
          moving_chains(s_, *clocked_, clocked_sampler_ ? *clocked_sampler_ : s_.sampler, s_.chains,
                        /*cuda_graph=*/false);
    }
    const auto seconds = [chains = clocked_chains_, clocked = clocked_, own = clocked_sampler_,
                          proposal = name == "proposal"](int64_t calls) {
      double sum = 0;
      for (int64_t i = 0; i < calls; ++i) {
        const auto parts = clocked->clock([&] { chains->step(*clocked); });
        sum += proposal ? parts.proposal : parts.acceptance;
      }
      return sum;
    };
    return {name, seconds, 0, part_bytes(name)};
  }

  std::function<double(int64_t)> seconds_of_steps(std::shared_ptr<MovingChains> chains) const {
    return [chains = std::move(chains), &s = s_](int64_t calls) {
      return timed(s.device, [&] { chains->steps(s.model, calls); })(1);
    };
  }

  Stage step() {
    const double calls = static_cast<double>(chains_->evaluations);
    const double bytes =
        s_.sampler.is_metropolis()
            ? part_bytes("proposal") + call_bytes(sampler_table()) + part_bytes("acceptance")
            : 0;
    return {"step", seconds_of_steps(chains_), calls * call_flops(), bytes};
  }

  Stage scan() {
    const std::shared_ptr<Sampler> tempering = s_.tempering();
    // Counts one evaluation per rung and inner step. The occasional evaluation of an exact draw is
    // not counted.
    const double flops =
        s_.sampler.is_metropolis() ? static_cast<double>(s_.exploration) * call_flops() : 0;
    const auto steps = seconds_of_steps(
        moving_chains(s_, s_.model, *tempering, s_.chains / s_.rungs, s_.cuda_graph));
    // Exact draws come with every second scan, so that scans are timed in pairs.
    return {"scan", [tempering, steps](int64_t calls) { return steps(2 * calls) / 2; }, flops};
  }

  Stage ais_step() {
    const auto start = std::make_shared<Factorised>(annealing_start(s_.model, nullptr, s_.device));
    const auto annealing =
        std::make_shared<AnnealedImportanceSampling>(s_.model, s_.sampler, *start,
                                                     AisOptions{.chains = s_.chains,
                                                                .temperatures = kTemperatures,
                                                                .seed = s_.seed,
                                                                .cuda_graph = s_.cuda_graph},
                                                     s_.device);
    const double flops = s_.sampler.is_metropolis() ? call_flops() : 0;
    return {"ais-step", timed(s_.device, [start, annealing] { annealing->step(); }), flops};
  }

  Stage training_iteration() {
    const auto seconds = [&s = s_, data = random_images(s_)](int64_t calls) {
      double sum = 0;
      for (int64_t left = calls; left > 0; left -= kIterations) {
        Trainer trainer(s.trained, contrastive(s, data), {});
        sum += timed(s.device, [&] { trainer.iterate(); })(std::min(left, kIterations));
      }
      return sum;
    };
    // Counts the chains' first evaluation and their steps, and the loss at the data and at the
    // chains.
    const double flops = s_.sampler.needs() == Needs::kGradient
                             ? static_cast<double>(s_.steps_per_iteration + 1) * call_flops() +
                                   2 * per_state(s_.model.flops().parameter_gradient)
                             : 0;
    return {"training-iteration", seconds, flops};
  }

  Stage sgemm(int64_t n, const std::string& name) const {
    const auto options = torch::TensorOptions(torch::kFloat32).device(s_.device);
    const torch::Tensor a = torch::rand({n, n}, options), b = torch::rand({n, n}, options);
    torch::Tensor c = torch::empty({n, n}, options);
    const double size = static_cast<double>(n);
    return {name, timed(s_.device, [a, b, c]() mutable { at::mm_out(c, a, b); }),
            2 * size * size * size};
  }

  Stage copy() const {
    const torch::Tensor from =
        torch::zeros({kCopyFloats}, torch::TensorOptions(torch::kFloat32).device(s_.device));
    torch::Tensor to = torch::zeros_like(from);
    return {"copy", timed(s_.device, [from, to]() mutable { to.copy_(from); }), 0,
            bytes_of({from, to})};
  }

  const BenchSubject& s_;
  // Null if the sampler suits the clocked model. Stages outlive this object, and keep it.
  std::shared_ptr<const Sampler> clocked_sampler_;
  std::shared_ptr<MovingChains> chains_, clocked_chains_;
  std::shared_ptr<ClockedModel> clocked_;
};

}  // namespace

bool is_bound(const std::string& stage) {
  return stage == "copy" || stage.starts_with("sgemm-");
}

std::optional<std::string> obstacle(const std::string& stage, const BenchSubject& s) {
  const StateKind kind = s.model.space().kind;
  if (stage == "energy-gradient" && !s.model.differentiable()) return "the model has no gradient";
  if (stage == "energy-differences" && s.sampler.needs() != Needs::kDifferences) {
    return "the sampler uses no energy differences";
  }
  if ((stage == "proposal" || stage == "acceptance") && !s.sampler.is_metropolis()) {
    return "the sampler draws from conditionals and has no proposal";
  }
  if ((stage == "training-iteration" || stage == "ais-step") && s.sampler.warmup()) {
    return "the sampler learns in burn-in, and training and annealing have no burn-in";
  }
  if (stage == "training-iteration" && (!s.trained || kind != StateKind::kBinary)) {
    return "the model cannot be trained";
  }
  if (stage == "scan") return tempering_obstacle(s);
  return stage == "ais-step" ? annealing_obstacle(s) : std::nullopt;
}

std::vector<Stage> make_stages(const std::vector<std::string>& names, const BenchSubject& subject) {
  StageMaker maker(subject);
  std::vector<Stage> stages;
  for (const std::string& name : names) stages.push_back(maker.make(name));
  return stages;
}

}  // namespace isinglass
