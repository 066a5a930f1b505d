// Operators launch on the device of their tensors, whichever device is current, and leave the
// current device unchanged. The test uses two GPUs emulated by the interpreter
// (tests/simt/devices.h) in one process.
#include <ATen/ATen.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/ops/check.h"
#include "kernels/ops/lattice.h"
#include "kernels/ops/metropolis.h"
#include "kernels/ops/path.h"
#include "kernels/ops/scratch.h"
#include "kernels/ops/swish.h"
#include "tests/simt/devices.h"

namespace isinglass {
namespace {

using c10::Device, c10::Stream;

// The interface that LibTorch requires of a GPU's runtime.
struct PlayedDevices : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return torch::kCUDA; }
  Device getDevice() const override {
    ++asked;
    return {torch::kCUDA, static_cast<c10::DeviceIndex>(simt::current_device())};
  }
  void setDevice(Device device) const override {
    ++asked;
    simt::set_current_device(device.index());
  }
  void uncheckedSetDevice(Device device) const noexcept override { setDevice(device); }
  Device exchangeDevice(Device device) const override {
    const Device before = getDevice();
    setDevice(device);
    return before;
  }
  // Identifies a stream by its address, like streams that LibTorch has not made.
  Stream getStream(Device device) const override {
    ++asked;
    const auto id = reinterpret_cast<c10::StreamId>(simt::stream_of(device.index()));
    return default_streams ? Stream(Stream::DEFAULT, device) : Stream(Stream::UNSAFE, device, id);
  }
  Stream exchangeStream(Stream stream) const override { return stream; }
  // As CUDAStream::stream() has them; releases before 2.11 do not ask.
  // NOLINTNEXTLINE(modernize-use-override)
  virtual void* getStreamNativeHandle(Stream stream) const {
    return stream.id() == 0 ? nullptr : reinterpret_cast<void*>(stream.id());
  }
  c10::DeviceIndex deviceCount() const noexcept override { return simt::kDevices; }

  mutable int asked = 0;
  bool default_streams = true;
};

class Dispatch : public testing::Test {
 protected:
  Dispatch() : before_(slot().exchange(&played_)) {}
  ~Dispatch() override {
    slot() = before_;
    simt::set_current_device(0);
  }

  static std::atomic<const c10::impl::DeviceGuardImplInterface*>& slot() {
    return c10::impl::device_guard_impl_registry[static_cast<size_t>(torch::kCUDA)];
  }

  // Copies the tensor to device `index`; -1 is the CPU.
  static torch::Tensor on(const torch::Tensor& t, int index) {
    if (index < 0) return t;
    const Device device(torch::kCUDA, static_cast<c10::DeviceIndex>(index));
    return at::for_blob(t.mutable_data_ptr(), t.sizes())
        .options(t.options().device(device))
        .target_device(device)
        .make_tensor();
  }

  PlayedDevices played_;

 private:
  const c10::impl::DeviceGuardImplInterface* before_;
};

// Chains on a device, or on the CPU (-1), with the first numbers of the seed.
struct Chains {
  static constexpr int64_t kChains = 3, kSites = 40, kMoves = 5;

  Chains(int index, int64_t seed)
      : device(index),
        rng(torch::tensor({seed, int64_t{0}})),
        x(torch::arange(kChains * kSites).remainder(2).to(torch::kUInt8).view({kChains, kSites})),
        y(torch::zeros_like(x)),
        gradient(torch::linspace(-1, 1, kChains * kSites).view({kChains, kSites})),
        log_q(torch::zeros({kChains}, torch::kFloat64)),
        ids(torch::arange(kChains)),
        radius(torch::full({1}, 3.0, torch::kFloat64)),
        paths(ops::PathBuffers::create(kChains, kSites, kMoves, torch::kCPU)) {}

  // Makes a path step of every chain and increments the step number.
  template <class On>
  void step(On on) {
    ops::PathBuffers own{on(paths.length, device), on(paths.site, device), on(paths.from, device),
                         on(paths.to, device), on(paths.scratch, device)};
    torch::Tensor to = on(y, device), numbers = on(rng, device), score = on(log_q, device);
    ops::draw_path(on(x, device), on(gradient, device), numbers, on(ids, device),
                   on(radius, device), 2, PathRule::kLinearised, Balancing::kSqrt, to, own, score);
    ops::advance(numbers);
    x.copy_(y);
  }

  int device;
  torch::Tensor rng, x, y, gradient, log_q, ids, radius;
  ops::PathBuffers paths;
};

TEST_F(Dispatch, LaunchesOnTheDeviceOfItsTensors) {
  for (const bool default_streams : {true, false}) {
    played_.default_streams = default_streams;
    for (const int current : {0, 1}) {
      for (const int device : {0, 1}) {
        simt::set_current_device(current);
        const int64_t there = simt::launches_on(device), elsewhere = simt::launches_on(1 - device);
        Chains chains(device, 7);
        chains.step(on);
        EXPECT_EQ(simt::launches_on(device), there + 2);
        EXPECT_EQ(simt::launches_on(1 - device), elsewhere);
        EXPECT_EQ(simt::current_device(), current);
      }
    }
  }
}

TEST_F(Dispatch, ChainsOnTwoDevicesInOneProcess) {
  Chains first(0, 7), second(1, 8), first_alone(-1, 7), second_alone(-1, 8);
  for (int t = 0; t < 3; ++t) {
    first.step(on);
    second.step(on);
    first_alone.step(on);
    second_alone.step(on);
  }
  EXPECT_TRUE(first.x.equal(first_alone.x));
  EXPECT_TRUE(second.x.equal(second_alone.x));
  EXPECT_FALSE(first.x.equal(second.x));
}

TEST_F(Dispatch, LeavesTheCurrentDeviceAsItWasWhereATwinFails) {
  const torch::Tensor x = on(torch::zeros({1}), 1);
  const auto fails = [](isinglass::Stream) {
    EXPECT_EQ(simt::current_device(), 1);
    throw std::runtime_error("launch");
  };
  EXPECT_THROW(ops::run_twin(x, [](std::nullptr_t) {}, fails), std::runtime_error);
  EXPECT_EQ(simt::current_device(), 0);
}

TEST_F(Dispatch, OverloadedTwins) {
  torch::Tensor a = torch::linspace(-3, 3, 50), y = torch::zeros_like(a), slope = y.clone(),
                expected = y.clone(), expected_slope = y.clone();
  torch::Tensor there = on(y, 1), slope_there = on(slope, 1);
  const int64_t launches = simt::launches_on(1);
  ops::swish(on(a, 1), {}, there, slope_there);
  ops::swish(a, {}, expected, expected_slope);
  EXPECT_EQ(simt::launches_on(1), launches + 1);
  EXPECT_TRUE(y.equal(expected) && slope.equal(expected_slope));
}

// The lattice is a ring, whose neighbourhoods a GPU looks up.
TEST_F(Dispatch, GradientsOfALatticeComeFromItsTables) {
  constexpr int64_t kSites = 60;
  const torch::Tensor site = torch::arange(kSites);
  const ops::LatticeTensors ring{
      torch::linspace(-1, 1, 2 * kSites, torch::kFloat64).view({kSites, 2}),
      2 * torch::arange(kSites + 1),
      torch::stack({(site + 1) % kSites, (site + kSites - 1) % kSites}, 1)
          .flatten()
          .to(torch::kInt32),
      torch::full({2 * kSites}, 0.3, torch::kFloat64), 0.25};
  ops::NeighbourhoodTensors tables = ops::tabulate_neighbourhoods(ring, torch::kCPU);
  ASSERT_TRUE(tables.defined());
  const torch::Tensor x =
      (torch::arange(3 * kSites) * 7).remainder(5).lt(2).to(torch::kUInt8).view({3, kSites});
  const auto evaluate = [&](int device) {
    ops::LatticeTensors there{on(ring.unary, device), on(ring.offset, device),
                              on(ring.neighbour, device), on(ring.coupling, device), ring.constant};
    there.neighbourhoods = {on(tables.neighbour, device),      on(tables.flip_energy, device),
                            on(tables.half_flip, device),      on(tables.gradient, device),
                            on(tables.threshold_word, device), tables.constant};
    const torch::Tensor energy = torch::zeros({3}, torch::kFloat64),
                        gradient = torch::zeros({3, kSites});
    torch::Tensor energy_there = on(energy, device);
    ops::Scratch scratch;
    ops::lattice_evaluate(there, on(x, device), false, LocalTable::kGradient, energy_there,
                          on(gradient, device), scratch);
    return std::pair(energy, gradient);
  };
  const auto [energy, gradient] = evaluate(1);
  const auto [expected_energy, expected_gradient] = evaluate(-1);
  EXPECT_TRUE(gradient.equal(expected_gradient));
  EXPECT_TRUE(torch::allclose(energy, expected_energy, 1e-12));
  tables.gradient.fill_(5);
  EXPECT_TRUE(evaluate(1).second.eq(5).all().item<bool>());
}

// Captured steps continue to write to the memory that they wrote to during capture.
TEST(Scratch, KeepsWhatItHasHandedOut) {
  const torch::Tensor x = torch::zeros({1}, torch::kUInt8);
  ops::Scratch scratch;
  double* const first = scratch.numbers<double>(x, 4);
  std::fill_n(first, 4, 1.5);
  double* const larger = scratch.numbers<double>(x, 4000);
  std::vector<torch::Tensor> others;  // reuse freed memory
  for (int n = 0; n < 100; ++n) others.push_back(torch::zeros({4}, torch::kFloat64));
  EXPECT_EQ(std::count(first, first + 4, 1.5), 4);
  EXPECT_EQ(scratch.numbers<double>(x, 4), larger);
  EXPECT_EQ(scratch.numbers<double>(x, 0), nullptr);
}

TEST_F(Dispatch, AsksTheRuntimeNothingForTheCpu) {
  Chains(-1, 7).step(on);
  EXPECT_EQ(played_.asked, 0);
}

}  // namespace
}  // namespace isinglass
