// Indices beyond 2^32: the last chain of a batch of 5·10⁹ sites moves as it does alone. Only the
// pages of that chain are touched in the batch's memory, and only its block runs.
#include <sys/mman.h>

#include <numeric>

#include "kernels/accept/metropolis.h"
#include "kernels/hamiltonian/leapfrog.h"
#include "kernels/jump/jump.h"
#include "kernels/path/first_order_path.h"
#include "kernels/random/random_states.h"
#include "tests/simt/twins.h"

namespace isinglass {
namespace {

constexpr int64_t kSites = 1000, kChains = 5'000'001, kLast = kChains - 1, kMoves = 5;
const int64_t kRng[] = {99, 4};

// Zeros, whose pages exist once they are touched.
template <class T>
class Sparse {
 public:
  explicit Sparse(int64_t count) : bytes_(static_cast<size_t>(count) * sizeof(T)) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) throw std::runtime_error("no address space");
  }
  // Puts `values` at the end.
  Sparse(int64_t count, const std::vector<T>& values) : Sparse(count) {
    std::copy(values.begin(), values.end(), data() + count - static_cast<int64_t>(values.size()));
  }
  ~Sparse() { munmap(memory_, bytes_); }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;

  T* data() { return static_cast<T*>(memory_); }
  std::vector<T> last(int64_t count) {
    T* end = data() + bytes_ / sizeof(T);
    return {end - count, end};
  }

 private:
  size_t bytes_;
  void* memory_;
};

class Indices : public testing::Test {
 protected:
  void SetUp() override { simt::set_schedule({.first_block = static_cast<unsigned>(kLast)}); }
  void TearDown() override { simt::set_schedule({}); }

  Inputs inputs_{31};
};

TEST_F(Indices, Paths) {
  const auto x = inputs_.states(kSites, 2);
  const auto gradient = inputs_.reals<float>(kSites, 1);
  const double radius = 3;
  const auto run = [&](int64_t chains, Twin twin) {
    const PathShape shape{chains,           kSites, 2, false, PathRule::kLinearised,
                          Balancing::kSqrt, kMoves};
    Sparse<uint8_t> at(chains * kSites, x), y(chains * kSites), from(chains * kMoves),
        to(chains * kMoves);
    Sparse<float> table(chains * kSites, gradient);
    Sparse<int64_t> ids(chains, {17});
    Sparse<int32_t> length(chains), site(chains * kMoves);
    Sparse<double> scratch(chains * sums_scratch(kSites)), forward(chains), backward(chains);
    const Paths paths{length.data(), site.data(), from.data(), to.data(), scratch.data()};
    const bool cpu = twin == Twin::kCpu;
    (cpu ? cpu::draw_path : cuda::draw_path)(shape, at.data(), table.data(), kRng, ids.data(),
                                             &radius, y.data(), paths, forward.data(), nullptr);
    (cpu ? cpu::score_path : cuda::score_path)(shape, y.data(), table.data(), paths,
                                               backward.data(), nullptr);
    return std::tuple(y.last(kSites), site.last(kMoves), to.last(kMoves), length.last(1),
                      forward.last(1), backward.last(1));
  };
  const auto alone = run(1, Twin::kCpu);
  EXPECT_NE(std::get<0>(alone), x);
  EXPECT_EQ(run(kChains, Twin::kCuda), alone);
  const SharedMemory limit(600);  // the sums, too
  EXPECT_EQ(run(kChains, Twin::kCuda), alone);
}

TEST_F(Indices, Jumps) {
  const auto x = inputs_.states(kSites, 2);
  const auto gradient = inputs_.reals<float>(kSites, 1);
  const double time = 0.7;
  const auto run = [&](int64_t chains, Twin twin) {
    const JumpShape shape{chains, kSites, 2, false, JumpRule::kInterpolation, Balancing::kSqrt};
    Sparse<uint8_t> at(chains * kSites, x), y(chains * kSites);
    Sparse<float> table(chains * kSites, gradient);
    Sparse<int64_t> ids(chains, {17});
    Sparse<double> forward(chains), backward(chains);
    const bool cpu = twin == Twin::kCpu;
    (cpu ? cpu::draw_jump : cuda::draw_jump)(shape, at.data(), table.data(), kRng, ids.data(),
                                             &time, y.data(), forward.data(), nullptr);
    (cpu ? cpu::score_jump : cuda::score_jump)(shape, y.data(), table.data(), at.data(), &time,
                                               backward.data(), nullptr);
    return std::tuple(y.last(kSites), forward.last(1), backward.last(1));
  };
  const auto alone = run(1, Twin::kCpu);
  EXPECT_NE(std::get<0>(alone), x);
  EXPECT_EQ(run(kChains, Twin::kCuda), alone);
}

TEST_F(Indices, AcceptedStates) {
  const auto x = inputs_.states(kSites, 2), y = inputs_.states(kSites, 2);
  Sparse<uint8_t> current(kChains * kSites, x), proposed(kChains * kSites, y);
  Sparse<double> energy(kChains, {1}), lower(kChains, {0}), acceptance(kChains),
      acceptance_sum(kChains);
  Sparse<int64_t> ids(kChains, {17}), hops(kChains), hops_sum(kChains), non_finite(kChains);
  const AcceptedBuffers buffers{{{current.data(), proposed.data(), kSites}}, 1};
  cuda::accept(
      kChains, {current.data(), proposed.data(), kSites, 1},
      {energy.data(), lower.data(), nullptr, nullptr, false, 1}, kRng, ids.data(), buffers,
      {acceptance.data(), hops.data(), acceptance_sum.data(), hops_sum.data(), non_finite.data()},
      nullptr);
  EXPECT_EQ(current.last(kSites), y);
  const int64_t differing = std::inner_product(x.begin(), x.end(), y.begin(), int64_t{0},
                                               std::plus<>(), std::not_equal_to<>());
  EXPECT_EQ(hops.last(1).front(), differing);
}

TEST_F(Indices, Rows) {
  const auto run = [](int64_t rows, auto uniform_rows) {
    Sparse<int64_t> ids(rows, {17});
    Sparse<uint8_t> out(rows * kSites);
    uniform_rows({rows, kSites, ids.data(), 3, 4, Purpose::kInitialState}, 5, out.data(), nullptr);
    return out.last(kSites);
  };
  EXPECT_EQ(run(kChains, cuda::uniform_rows), run(1, cpu::uniform_rows));
}

TEST_F(Indices, Particles) {
  const auto x = inputs_.reals<float>(kSites, 1), gradient = inputs_.reals<float>(kSites, 1);
  const auto start = inputs_.reals<double>(kSites, 1);
  const double step = 0.1;
  const auto run = [&](int64_t chains, auto kick_and_drift) {
    Sparse<float> at(chains * kSites, x), force(chains * kSites, gradient), to(chains * kSites);
    Sparse<double> momentum(chains * kSites, start);
    LogMomenta log;  // summed: a block a chain
    Sparse<double> before(chains);
    log.before = before.data();
    kick_and_drift({chains, kSites, 1, 1.0}, {at.data(), force.data()}, &step, {0.5, 1},
                   momentum.data(), to.data(), log, nullptr);
    return std::tuple(momentum.last(kSites), to.last(kSites));
  };
  EXPECT_EQ(run(kChains, cuda::kick_and_drift), run(1, cpu::kick_and_drift));
}

}  // namespace
}  // namespace isinglass
