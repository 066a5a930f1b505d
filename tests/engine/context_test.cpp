// Chains that are divided among ranks learn what they would learn together.
#include "engine/context.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "models/lattice/ising.h"

namespace isinglass {
namespace {

using torch::Tensor;

// Two ranks that are threads of this process: a value is given, and taken when both have come.
class Meeting {
 public:
  std::vector<Tensor> exchange(int64_t rank, const Tensor& value) {
    std::unique_lock<std::mutex> lock(mutex_);
    const int64_t round = round_;
    given_.resize(2);
    given_[rank] = value.clone();
    if (++arrived_ == 2) {
      taken_ = given_;
      arrived_ = 0;
      ++round_;
      both_.notify_all();
    } else {
      // A bounded wait: a rank that does not come fails the test, and wait() is of a newer libstdc++
      // than the archive's machines have.
      EXPECT_TRUE(both_.wait_for(lock, std::chrono::minutes(1), [&] { return round_ != round; }));
    }
    return taken_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable both_;
  std::vector<Tensor> given_, taken_;
  int64_t arrived_ = 0, round_ = 0;
};

class Half : public Ranks {
 public:
  Half(Meeting& meeting, int64_t rank) : meeting_(meeting), rank_(rank) {}
  int64_t rank() const override { return rank_; }
  int64_t size() const override { return 2; }
  Tensor sum(const Tensor& value) const override {
    const std::vector<Tensor> all = meeting_.exchange(rank_, value);
    return all[0] + all[1];
  }
  Tensor gather(const Tensor& rows) const override {
    return torch::cat(meeting_.exchange(rank_, rows));
  }
  bool any(bool value) const override { return sum(torch::tensor(value ? 1 : 0)).item<int>() > 0; }

 private:
  Meeting& meeting_;
  int64_t rank_;
};

TEST(Ranks, MeansAreOverAllChains) {
  Meeting meeting;
  const Tensor rows = torch::arange(10, torch::kFloat64).square();
  std::vector<double> mean(2);
  std::vector<std::thread> ranks;
  for (int64_t r = 0; r < 2; ++r) {
    ranks.emplace_back([&, r] {
      const Half half(meeting, r);
      mean[r] = half.mean(r == 0 ? rows.narrow(0, 0, 3) : rows.narrow(0, 3, 7)).item<double>();
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_DOUBLE_EQ(mean[0], rows.mean().item<double>());
  EXPECT_EQ(mean[0], mean[1]);
  EXPECT_EQ(Ranks::alone().mean(rows).item<double>(), rows.mean().item<double>());
}

// What a run of chains first … first + count − 1 ends with.
struct Outcome {
  Tensor scale, x;
  NamedTensors learned;
  RunResult result;
};

Outcome outcome(const std::string& name, const Ranks& ranks, int64_t first, int64_t count,
                std::function<bool()> stop = {}) {
  const Tensor edges = torch::tensor({0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 0}, torch::kInt64);
  IsingModel model(edges.view({6, 2}), torch::full({6}, 0.4), torch::linspace(-1, 1, 6));
  SamplerOptions options;
  options.adapt = find_sampler(name).option("adapt") != nullptr;
  const auto sampler = make_sampler(name, options, model);
  const Tensor ids = torch::arange(first, first + count);
  ChainState state = sampler->init(model, random_states(model.space(), ids, 5, torch::kCPU), ids);
  StepParams params = sampler->params(5, torch::kCPU);
  const RunResult result = run(model, *sampler, state, params, {.burn_in = 120, .steps = 20}, {},
                               {.ranks = &ranks, .stop = std::move(stop)});
  return {params.scale.clone(), state.x, sampler->learned(state), result};
}

// Two halves of the chains adapt as the whole does: the radius of a path, a jump's time, the scales
// and the curvature of an any-scale sampler, a learned balancing function. The sums of two halves
// are rounded otherwise than that of the whole.
TEST(Ranks, HalvesAdaptAsTheWhole) {
  for (const char* name : {"pafs", "lbj", "ab-1st", "ab-trace", "lsb-1"}) {
    SCOPED_TRACE(name);
    const Outcome whole = outcome(name, Ranks::alone(), 0, 16);
    Meeting meeting;
    std::vector<Outcome> halves(2);
    std::vector<std::thread> ranks;
    for (int64_t r = 0; r < 2; ++r) {
      ranks.emplace_back(
          [&, r] { halves[r] = outcome(name, Half(meeting, r), r == 0 ? 0 : 5, r == 0 ? 5 : 11); });
    }
    for (std::thread& rank : ranks) rank.join();
    EXPECT_TRUE(torch::equal(halves[0].scale, halves[1].scale));
    EXPECT_TRUE(torch::allclose(halves[0].scale, whole.scale, 1e-9, 0));
    ASSERT_EQ(halves[0].learned.size(), whole.learned.size());
    for (size_t i = 0; i < whole.learned.size(); ++i) {
      const Tensor& learned = halves[0].learned[i].second;
      EXPECT_TRUE(torch::equal(learned, halves[1].learned[i].second));
      EXPECT_TRUE(torch::allclose(learned, whole.learned[i].second, 1e-6, 1e-8));
    }
    EXPECT_TRUE(torch::equal(torch::cat({halves[0].x, halves[1].x}), whole.x));
    for (const Outcome& half : halves) {
      EXPECT_NEAR(half.result.acceptance, whole.result.acceptance, 1e-9);
      EXPECT_NEAR(half.result.hops, whole.result.hops, 1e-9);
      EXPECT_NEAR(half.result.least_acceptance, whole.result.least_acceptance, 1e-9);
    }
  }
}

// One rank is told to stop: both end at the same step.
TEST(Ranks, StopTogether) {
  Meeting meeting;
  std::vector<Outcome> halves(2);
  std::vector<std::thread> ranks;
  for (int64_t r = 0; r < 2; ++r) {
    ranks.emplace_back([&, r] {
      int64_t asked = 0;
      std::function<bool()> stop = [&asked, r] { return r == 1 && ++asked > 127; };
      halves[r] = outcome("pafs", Half(meeting, r), 8 * r, 8, stop);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(halves[0].result.steps, 7);
  EXPECT_EQ(halves[1].result.steps, 7);
}

}  // namespace
}  // namespace isinglass
