// A step allocates no tensor memory after its buffers exist: none at all on a lattice, and on a
// model that is differentiated by LibTorch no more than that model's own evaluation.
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <atomic>

#include "engine/run.h"
#include "engine/sampler.h"
#include "models/ising.h"
#include "models/registry.h"

namespace isinglass {
namespace {

// Counts what passes through to LibTorch's own CPU allocator.
class CountingAllocator : public c10::Allocator {
 public:
  explicit CountingAllocator(c10::Allocator* own) : own_(own) {}
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes > 0) ++count;
    return own_->allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return own_->raw_deleter(); }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    own_->copy_data(to, from, bytes);
  }

  std::atomic<int64_t> count{0};

 private:
  c10::Allocator* own_;
};

class Allocation : public testing::Test {
 protected:
  void SetUp() override {
    original_ = c10::GetCPUAllocator();
    counting_ = std::make_unique<CountingAllocator>(original_);
    c10::SetCPUAllocator(counting_.get(), /*priority=*/1);
  }
  void TearDown() override { c10::SetCPUAllocator(original_, 1); }

  int64_t during(const std::function<void()>& f) {
    const int64_t before = counting_->count;
    f();
    return counting_->count - before;
  }

  // Allocations of ten steps after three for warm-up.
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

 private:
  c10::Allocator* original_ = nullptr;
  std::unique_ptr<CountingAllocator> counting_;
};

TEST_F(Allocation, NoneOnALattice) {
  const int64_t sites = 100;
  const torch::Tensor from = torch::arange(sites - 1);
  IsingModel ising(torch::stack({from, from + 1}, 1),
                   torch::full({sites - 1}, 0.4, torch::kFloat64),
                   torch::zeros({sites}, torch::kFloat64));
  for (const SamplerEntry& entry : sampler_registry()) {
    SCOPED_TRACE(entry.name);
    const int64_t count = of_ten_steps(ising, entry.name, 16);
    if (entry.name.find("lsb") != std::string::npos) {
      // LibTorch evaluates the learned balancing function: the same temporaries in every step.
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
  for (int t = 0; t < 100; ++t) sampler->burn_in_step(ising, state, params, t, 100);
  ASSERT_FALSE(sampler->learned(state).empty());
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

}  // namespace
}  // namespace isinglass
