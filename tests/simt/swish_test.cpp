// kernels/network/swish.cu against swish_cpu.cpp, bit for bit, in both precisions of the slopes.
#include "kernels/network/swish.h"

#include "tests/simt/twins.h"

namespace isinglass {
namespace {

template <class T>
std::vector<T> reals(Inputs& inputs, int64_t count) {
  std::vector<T> out(count);
  const auto wide = inputs.reals<float>(count, 10);
  for (int64_t i = 0; i < count; ++i) narrow(wide[i], out[i]);
  return out;
}

// The bits of y, slope and of a backward pass.
template <class T>
std::vector<float> run(int64_t count, bool both, Twin twin) {
  Inputs inputs(3);
  const auto a = inputs.reals<float>(count, 10), b = inputs.reals<float>(count, 10);
  const auto g = reals<T>(inputs, count), h = reals<T>(inputs, count);
  std::vector<float> y(count);
  std::vector<T> slope(count), out(count);
  const float* other = both ? b.data() : nullptr;
  const T* more = both ? h.data() : nullptr;
  if (twin == Twin::kCpu) {
    cpu::swish(count, a.data(), other, y.data(), slope.data(), nullptr);
    cpu::swish_backward(count, g.data(), more, slope.data(), out.data(), nullptr);
  } else {
    cuda::swish(count, a.data(), other, y.data(), slope.data(), nullptr);
    cuda::swish_backward(count, g.data(), more, slope.data(), out.data(), nullptr);
  }
  std::vector<float> all = y;
  for (const auto* numbers : {&slope, &out}) {
    for (const T v : *numbers) all.push_back(widened(v));
  }
  return all;
}

TEST(SwishTwins, Alike) {
  for (const int64_t count : {1, 33, 257, 5000}) {
    for (const bool both : {false, true}) {
      expect_twins([&](Twin twin) { return run<float>(count, both, twin); });
      expect_twins([&](Twin twin) { return run<Bfloat16>(count, both, twin); });
    }
  }
}

}  // namespace
}  // namespace isinglass
