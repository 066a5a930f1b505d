// A step allocates no tensor memory once its buffers exist: none at all on a lattice and, on a
// model that LibTorch differentiates, no more than the model's own evaluation. For sites of many
// values it never holds more than two tensors with one number per value. The buffers of a step stay
// where they are when other chains evaluate the model.
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include "engine/annealing/factorised.h"
#include "engine/annealing/tempered_model.h"
#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "engine/sampler.h"
#include "models/conditional/conditional.h"
#include "models/density/gaussian.h"
#include "models/lattice/categorical.h"
#include "models/lattice/ising.h"
#include "models/registry.h"
#include "tests/models/samples.h"

namespace isinglass::allocation_test {
namespace {

// Replaces LibTorch's CPU allocator. It counts allocations and tracks how many bytes are held. Each
// block's size is stored in front of it.
class CountingAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, c10::Device(c10::kCPU)};
    auto* block = static_cast<char*>(::operator new(kHeader + bytes, std::align_val_t(kHeader)));
    *reinterpret_cast<size_t*>(block) = bytes;
    ++count;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      held.insert(block);
    }
    live += static_cast<int64_t>(bytes);
    peak = std::max<int64_t>(peak, live);
    return {block + kHeader, block + kHeader, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

  static inline std::atomic<int64_t> count{0}, live{0}, peak{0};
  static inline std::mutex mutex;
  static inline std::set<const void*> held;  // blocks

 private:
  static constexpr size_t kHeader = 64;
  static void release(void* data) {
    if (data == nullptr) return;
    char* block = static_cast<char*>(data) - kHeader;
    live -= static_cast<int64_t>(*reinterpret_cast<size_t*>(block));
    {
      const std::lock_guard<std::mutex> lock(mutex);
      held.erase(block);
    }
    ::operator delete(block, std::align_val_t(kHeader));
  }
};

class Allocation : public testing::Test {
 protected:
  void SetUp() override {
    original_ = c10::GetCPUAllocator();
    c10::SetCPUAllocator(&counting_, /*priority=*/1);
  }
  void TearDown() override { c10::SetCPUAllocator(original_, 1); }

  int64_t during(const std::function<void()>& f) {
    const int64_t before = counting_.count;
    f();
    return counting_.count - before;
  }

  // Returns the largest number of bytes held at a time, beyond those held before.
  int64_t peak_during(const std::function<void()>& f) {
    const int64_t before = counting_.live;
    counting_.peak = before;
    f();
    return counting_.peak - before;
  }

  // Returns the allocations of ten steps after three warm-up steps.
  int64_t of_ten_steps(EnergyModel& model, const std::string& name, int64_t chains) {
    const auto sampler = make_sampler(name, {}, model);
    const torch::Tensor ids = torch::arange(chains);
    ChainState state = sampler->init(model, random_states(model.space(), ids, 0, torch::kCPU), ids);
    StepParams params = sampler->params(0, torch::kCPU);
    for (int t = 0; t < 3; ++t) sampler->step(model, state, params);
    return during([&] {
      for (int t = 0; t < 10; ++t) sampler->step(model, state, params);
    });
  }

  // Returns how many blocks that chains hold after some steps are freed by steps of fewer and of
  // more chains on the same model.
  static int64_t given_back_by_others(EnergyModel& model, const Sampler& sampler) {
    const auto make = [&](int64_t chains) {
      const torch::Tensor ids = torch::arange(chains);
      return sampler.init(model, random_states(model.space(), ids, 0, torch::kCPU), ids);
    };
    StepParams params = sampler.params(0, torch::kCPU);
    std::vector<ChainState> states = {make(12)};  // all are kept alive
    const auto step = [&](ChainState& state) {
      for (int t = 0; t < 3; ++t) sampler.step(model, state, params);
    };
    step(states[0]);
    const std::set<const void*> before = CountingAllocator::held;
    for (const int64_t chains : {5, 20}) {
      states.push_back(make(chains));
      step(states.back());
    }
    return std::count_if(before.begin(), before.end(), [](const void* block) {
      return CountingAllocator::held.count(block) == 0;
    });
  }

  // Expects that no sampler's steps of other chains free what a step of the model holds.
  static void expect_buffers_stay(EnergyModel& model, const std::string& label) {
    for (const SamplerEntry& entry : sampler_registry()) {
      if (!entry.fits(model)) continue;
      SCOPED_TRACE(label + " " + entry.name);
      SamplerOptions options;
      if (entry.option("block")) options.block = 2;
      if (entry.option("group")) options.group = 1;
      EXPECT_EQ(given_back_by_others(model, *make_sampler(entry.name, options, model)), 0);
    }
  }

 private:
  c10::Allocator* original_ = nullptr;
  CountingAllocator counting_;
};

TEST_F(Allocation, NoneOnALattice) {
  const int64_t sites = 100;
  const torch::Tensor from = torch::arange(sites - 1);
  IsingModel ising(torch::stack({from, from + 1}, 1),
                   torch::full({sites - 1}, 0.4, torch::kFloat64),
                   torch::zeros({sites}, torch::kFloat64));
  for (const SamplerEntry& entry : sampler_registry()) {
    if (!entry.fits(ising)) continue;
    SCOPED_TRACE(entry.name);
    const int64_t count = of_ten_steps(ising, entry.name, 20);
    if (entry.name.find("lsb") != std::string::npos) {
      // LibTorch evaluates the learned balancing function, with the same temporaries in every step.
      EXPECT_EQ(count % 10, 0);
    } else {
      EXPECT_EQ(count, 0);
    }
  }
}

TEST_F(Allocation, NoneWithALearnedCurvature) {
  const int64_t sites = 30, chains = 16;
  const torch::Tensor from = torch::arange(sites - 1);
  IsingModel ising(torch::stack({from, from + 1}, 1),
                   torch::full({sites - 1}, 0.4, torch::kFloat64),
                   torch::zeros({sites}, torch::kFloat64));
  const auto sampler = make_sampler("ab-trace", {}, ising);
  const torch::Tensor ids = torch::arange(chains);
  ChainState state = sampler->init(ising, random_states(ising.space(), ids, 0, torch::kCPU), ids);
  StepParams params = sampler->params(0, torch::kCPU);
  for (int t = 0; t < 100; ++t) sampler->warmup()->burn_in_step(ising, state, params, t, 100);
  ASSERT_FALSE(sampler->warmup()->learned(state).empty());
  sampler->step(ising, state, params);
  EXPECT_EQ(during([&] {
              for (int t = 0; t < 10; ++t) sampler->step(ising, state, params);
            }),
            0);
}

TEST_F(Allocation, NoMoreThanTheModelItself) {
  const auto model = new_model("resnet", {.channels = 4}, 1);
  const torch::Tensor x = random_states(model->space(), torch::arange(8), 0, torch::kCPU);
  Evaluation out;
  model->evaluate(x, out);
  const int64_t bare = during([&] { model->evaluate(x, out); });
  EXPECT_GT(bare, 0);
  EXPECT_EQ(of_ten_steps(*model, "pafs", 8), 10 * bare);
}

// There is a model call for every leapfrog step, and nothing else.
TEST_F(Allocation, NoMoreThanTheModelItselfOfTrajectories) {
  GaussianModel model(torch::zeros({50}), torch::ones({50}));
  const torch::Tensor x = random_states(model.space(), torch::arange(8), 0, torch::kCPU);
  Evaluation out;
  model.evaluate(x, out);
  const int64_t bare = during([&] { model.evaluate(x, out); });
  for (const SamplerEntry& entry : sampler_registry()) {
    if (!entry.fits(model)) continue;
    SCOPED_TRACE(entry.name);
    const int64_t calls = entry.option("leapfrog") ? 8 : 1;
    EXPECT_EQ(of_ten_steps(model, entry.name, 8), 10 * calls * bare);
  }
}

// A captured step (engine/run/step_graph.h) refers to memory by its address.
TEST_F(Allocation, StaysWhenOtherChainsComeBetween) {
  for (const ModelSample& sample : model_samples()) {
    const auto model = load_sample(sample);
    expect_buffers_stay(*model, sample.label);
  }
}

TEST_F(Allocation, OfAnAnnealedModelStaysWhenOtherChainsComeBetween) {
  for (const ModelSample& sample : model_samples()) {
    const auto target = load_sample(sample);
    const StateKind kind = target->space().kind;
    if (kind != StateKind::kBinary && kind != StateKind::kCategorical) continue;
    const Factorised start = Factorised::uniform(target->space(), torch::kCPU);
    TemperedModel model(*target, &start, torch::kCPU);
    model.set_beta(0.5);
    expect_buffers_stay(model, sample.label);
  }
}

TEST_F(Allocation, OfAConditionalModelStaysWhenOtherChainsComeBetween) {
  for (const ModelSample& sample : model_samples()) {
    const std::shared_ptr<EnergyModel> joint = load_sample(sample);
    const StateKind kind = joint->space().kind;
    if (kind != StateKind::kBinary && kind != StateKind::kCategorical) continue;
    torch::Tensor given = torch::full({joint->space().sites}, -1);
    given[1] = 1;
    const auto model = conditional_model(
        joint, FixedSites(joint->space(), given, "the values", torch::kCPU), /*lasting=*/true);
    expect_buffers_stay(*model, sample.label);
  }
}

// The two tensors are the gradients, or differences, at the state and at the proposal.
TEST_F(Allocation, TwoNumbersForEachValue) {
  const int64_t chains = 10, sites = 560, values = 256;
  CategoricalModel model(torch::randn({sites, values}, torch::kFloat64));
  const double tensor = chains * sites * values * sizeof(float);
  int samplers = 0;
  for (const SamplerEntry& entry : sampler_registry()) {
    if (!entry.fits(model) || entry.name == "lbjb") continue;  // lbjb: at most 64 values
    SCOPED_TRACE(entry.name);
    SamplerOptions options;
    if (entry.name == "block-gibbs") options.block = 1;  // it has 256 joint values
    const torch::Tensor ids = torch::arange(chains);
    const torch::Tensor x = random_states(model.space(), ids, 0, torch::kCPU);
    const int64_t peak = peak_during([&] {
      const auto sampler = make_sampler(entry.name, options, model);
      ChainState state = sampler->init(model, x, ids);
      StepParams params = sampler->params(0, torch::kCPU);
      for (int t = 0; t < 2; ++t) sampler->step(model, state, params);
    });
    EXPECT_LT(static_cast<double>(peak) / tensor, 2.5);
    ++samplers;
  }
  EXPECT_GT(samplers, 5);
}

}  // namespace
}  // namespace isinglass::allocation_test
