#include "io/sha256.h"

#include <gtest/gtest.h>

#include "io/files.h"
#include "tests/support/scratch.h"

namespace isinglass::sha256_test {
namespace {

// FIPS 180-4's examples.
TEST(Sha256, IsTheStandardsOwn) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, OfTensorsIsThatOfNamesTypesShapesAndElements) {
  const torch::Tensor b = torch::tensor({1.0f, -2.5f}), a = torch::tensor({7, 8, 9}, torch::kUInt8);
  const std::string_view floats(static_cast<const char*>(b.const_data_ptr()), 8);
  const std::string bytes = std::string(
                                "a\0uint8\0"
                                "3\0\x07\x08\x09",
                                13) +
                            std::string(
                                "b\0float32\0"
                                "2\0",
                                12) +
                            std::string(floats);
  EXPECT_EQ(sha256({{"a", a}, {"b", b}}), sha256(bytes));
  EXPECT_EQ(sha256({{"b", b}, {"a", a}}), sha256(bytes));
}

TEST(Sha256, OfAFileThatIsSavedAgainStaysTheSame) {
  const Scratch scratch;
  const torch::Tensor w = torch::randn({4, 6}), b = torch::randn({4});
  write_named_tensors(scratch / "first.pt", {{"w", w}, {"b", b}});
  write_named_tensors(scratch / "again.pt", {{"b", b}, {"w", w.t().contiguous().t()}});
  EXPECT_NE(read_file(scratch / "first.pt"), read_file(scratch / "again.pt"));
  const std::string hash = sha256(read_named_tensors(scratch / "first.pt"));
  EXPECT_EQ(sha256(read_named_tensors(scratch / "again.pt")), hash);

  torch::Tensor other = w.clone();
  other[3][5] += 1e-6;
  EXPECT_NE(sha256({{"w", other}, {"b", b}}), hash);
  EXPECT_NE(sha256({{"v", w}, {"b", b}}), hash);
  EXPECT_NE(sha256({{"w", w.view({6, 4})}, {"b", b}}), hash);
  EXPECT_NE(sha256({{"w", w.view(torch::kInt32)}, {"b", b}}), hash);
  EXPECT_NE(sha256({{"w", w}}), hash);
}

}  // namespace
}  // namespace isinglass::sha256_test
