// kernels/tempering/mixture.cu against its CPU twin.
#include "kernels/tempering/mixture.h"

#include "tests/simt/twins.h"

namespace isinglass {
namespace {

enum class Start { kNone, kOne, kEach };

template <class T>
std::vector<T> mixed_rows(int64_t rows, int64_t columns, int64_t each, Start of, Twin twin) {
  Inputs inputs(5);
  const auto start = inputs.reals<T>(rows * columns, 1);
  auto target = inputs.reals<T>(rows * columns, 3);
  target[columns / 2] = INFINITY;
  const int64_t betas = rows / each;
  std::vector<double> beta(betas);
  for (int64_t i = 0; i < betas; ++i)
    beta[i] = betas > 1 ? static_cast<double>(i) / (betas - 1) : 0.3;
  std::vector<T> out(rows * columns, -1);
  const Mixture<T> mixture{rows,
                           columns,
                           betas,
                           of == Start::kNone ? nullptr : start.data(),
                           of == Start::kOne,
                           target.data(),
                           beta.data(),
                           out.data()};
  if (twin == Twin::kCpu) {
    cpu::mix(mixture, nullptr);
  } else {
    cuda::mix(mixture, nullptr);
  }
  return out;
}

TEST(MixtureTwins, MixAlike) {
  for (const Start start : {Start::kNone, Start::kOne, Start::kEach}) {
    for (const int64_t columns : {1, 5, 33, 70}) {
      for (const auto& [rows, each] :
           {std::pair<int64_t, int64_t>(1, 1), {9, 1}, {12, 3}, {150, 150}}) {
        expect_twins(
            [&](Twin twin) { return mixed_rows<float>(rows, columns, each, start, twin); });
        expect_twins(
            [&](Twin twin) { return mixed_rows<double>(rows, columns, each, start, twin); });
      }
    }
  }
}

// At the ends, an infinite energy of the other distribution has no effect; between them it forbids
// the state.
TEST(MixtureTwins, EndsAreThemselves) {
  EXPECT_EQ(mixed(1.5, INFINITY * 1.0, 0.0), 1.5);
  EXPECT_EQ(mixed(INFINITY * 1.0, 1.5, 1.0), 1.5);
  for (const double beta : {0.2, 0.8}) {
    EXPECT_EQ(mixed(1.5, INFINITY * 1.0, beta), INFINITY);
    EXPECT_EQ(mixed(INFINITY * 1.0, 1.5, beta), INFINITY);
    EXPECT_EQ(mixed(1.0, 2.0, beta), 1 + beta);
  }
  EXPECT_TRUE(std::isnan(mixed(NAN * 1.0, 1.5, 0.5)));
}

}  // namespace
}  // namespace isinglass
