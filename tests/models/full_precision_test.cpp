// The library's precision settings last only as long as its calls.
#include "models/full_precision.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace isinglass::full_precision_test {
namespace {

TEST(FullPrecision, LastsForAScope) {
  at::Context& torch = at::globalContext();
  for (const char* products : {"highest", "high", "medium"}) {
    for (const bool convolutions : {true, false}) {
      torch.setFloat32MatmulPrecision(products);
      torch.setAllowTF32CuDNN(convolutions);
      torch.setDeterministicCuDNN(!convolutions);
      const auto before = torch.float32MatmulPrecision();
      {
        const FullPrecision full;
        EXPECT_FALSE(torch.allowTF32CuDNN());
        EXPECT_FALSE(torch.allowTF32CuBLAS());
        EXPECT_TRUE(torch.deterministicCuDNN());
        EXPECT_EQ(torch.float32MatmulPrecision(), at::Float32MatmulPrecision::HIGHEST);
        const FullPrecision again;
      }
      EXPECT_EQ(torch.allowTF32CuDNN(), convolutions);
      EXPECT_EQ(torch.deterministicCuDNN(), !convolutions);
      EXPECT_EQ(torch.float32MatmulPrecision(), before);
    }
  }
  torch.setFloat32MatmulPrecision("highest");
  torch.setDeterministicCuDNN(false);
}

}  // namespace
}  // namespace isinglass::full_precision_test
