// kernels/rbm/free_energy.cu against free_energy_cpu.cpp, bit for bit: from scratch, and from
// states in which few or nearly all units have moved.
#include "kernels/rbm/free_energy.h"
#include "tests/simt/twins.h"

namespace isinglass {
namespace {

struct Outcome {
  std::vector<double> inputs, energy;
  std::vector<float> on;
  bool operator==(const Outcome&) const = default;
};

// moved: the share of all units; negative if x is not known.
Outcome run(const HiddenShape& s, double moved, bool wants_on, Twin twin) {
  Inputs inputs(12);
  const auto weights = inputs.reals<float>(s.visible * s.hidden, 1);
  const auto visible_biases = inputs.reals<float>(s.visible, 1);
  const auto hidden_biases = inputs.reals<float>(s.hidden, 1);
  const auto x = inputs.states(s.chains * s.visible, 2);
  const auto at_x = inputs.reals<double>(s.chains * s.hidden, 20);
  auto y = x;
  for (size_t i = 0; i < y.size(); ++i) {
    if (static_cast<double>((7 * i) % 100) < 100 * moved) y[i] = 1 - y[i];
  }
  Outcome o{std::vector<double>(at_x.size()), std::vector<double>(s.chains),
            std::vector<float>(at_x.size())};
  const bool known = moved >= 0;
  (twin == Twin::kCpu ? cpu::move_hidden : cuda::move_hidden)(
      s, {weights.data(), visible_biases.data(), hidden_biases.data()},
      {known ? x.data() : nullptr, known ? at_x.data() : nullptr}, y.data(),
      {o.inputs.data(), o.energy.data(), wants_on ? o.on.data() : nullptr}, nullptr);
  return o;
}

TEST(HiddenTwins, MoveAlike) {
  for (const Size& size : sizes()) {
    for (const int64_t hidden : {1, 31, 300}) {
      for (const double moved : {-1.0, 0.0, 0.1, 0.9}) {
        const HiddenShape shape{size.chains, size.sites, hidden};
        expect_twins([&](Twin twin) { return run(shape, moved, hidden != 31, twin); });
      }
    }
  }
}

// There are more sites than one list holds.
TEST(HiddenTwins, ManySites) {
  const SharedMemory limit(simt::kTuring);
  for (const double moved : {-1.0, 0.02, 0.9}) {
    const HiddenShape shape{2, 4100, 40};
    expect_twins([&](Twin twin) { return run(shape, moved, true, twin); });
  }
}

}  // namespace
}  // namespace isinglass
