// Files exchanged with Python's torch.save and torch.load(weights_only=True), both ways.
#include <gtest/gtest.h>

#include <cstdlib>

#include "io/pt/pt_file.h"
#include "tests/support/scratch.h"
#include "tests/support/source_tree.h"

namespace isinglass::pt_python_test {
namespace {

std::string python() {
  const char* given = std::getenv("ISINGLASS_PYTHON");
  return given ? given : source_tree() / ".venv/bin/python";
}

void write_ours(const std::filesystem::path& file) {
  PtDict tensors;
  const std::vector<std::pair<std::string, torch::ScalarType>> types = {
      {"float32", torch::kFloat},     {"float64", torch::kDouble}, {"float16", torch::kHalf},
      {"bfloat16", torch::kBFloat16}, {"int64", torch::kLong},     {"int32", torch::kInt},
      {"int16", torch::kShort},       {"int8", torch::kChar},      {"uint8", torch::kByte},
      {"bool", torch::kBool}};
  for (const auto& [name, type] : types)
    tensors.emplace_back(name, PtValue{torch::tensor({0, 1, 100}).to(type)});
  tensors.emplace_back("transposed", PtValue{torch::arange(6.f).view({2, 3}).t()});
  tensors.emplace_back("number", PtValue{torch::tensor(2.5f)});
  tensors.emplace_back("empty", PtValue{torch::empty({0, 5})});
  tensors.emplace_back("slice", PtValue{torch::zeros({1000}).narrow(0, 10, 2)});
  const std::string text = "strokes ψ";
  write_pt(file, {PtDict{{"iteration", {int64_t{70000}}},
                         {"large", {int64_t{1} << 40}},
                         {"negative", {int64_t{-5}}},
                         {"rate", {1e-4}},
                         {"nan", {NAN}},
                         {"done", {false}},
                         {"name", {text}},
                         {"none", {}},
                         {"list", {PtList{{int64_t{1}}, {2.5}, {text}, {PtList{}}}}},
                         {"tensors", {std::move(tensors)}}}});
}

// Every tensor of the module sums to what Python says.
void expect_sums(const NamedTensors& module, const NamedTensors& sums) {
  ASSERT_EQ(module.size(), sums.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    EXPECT_EQ(module[i].first, sums[i].first);
    const double expected = sums[i].second.item<double>();
    EXPECT_NEAR(module[i].second.to(torch::kDouble).sum().item<double>(), expected,
                1e-12 * module[i].second.numel() * (1 + std::abs(expected)));
  }
}

NamedTensors flat(const PtValue& dict) {
  NamedTensors tensors;
  for (const auto& [name, value] : std::get<PtDict>(dict.value))
    tensors.emplace_back(name, std::get<torch::Tensor>(value.value));
  return tensors;
}

TEST(PtPython, FilesGoBothWays) {
  if (!std::filesystem::exists(python())) GTEST_SKIP() << "no " << python();
  const Scratch scratch;
  write_ours(scratch / "ours.pt");
  write_named_tensors(scratch / "linear.pt", {{"weight", torch::arange(6.f).view({2, 3})},
                                              {"bias", torch::tensor({-1.f, 1.f})}});
  const std::string script = source_tree() / "tests/io/pt/pt_python.py";
  const std::string command = python() + " " + script + " " + scratch.folder().string();
  ASSERT_EQ(std::system(command.c_str()), 0) << command;

  const NamedTensors sums = read_named_tensors(scratch / "sums.pt");
  ASSERT_EQ(sums.size(), 9u);
  for (const char protocol : {'2', '3', '4', '5'}) {
    SCOPED_TRACE(protocol);
    expect_sums(read_named_tensors(scratch / (std::string("module") + protocol + ".pt")), sums);
    const PtValue content = read_pt(scratch / (std::string("checkpoint") + protocol + ".pt"));
    const PtDict& checkpoint = std::get<PtDict>(content.value);
    ASSERT_EQ(checkpoint.size(), 4u);
    expect_sums(flat(checkpoint[0].second), sums);
    const PtDict& optimizer = std::get<PtDict>(checkpoint[1].second.value);
    EXPECT_EQ(std::get<PtDict>(optimizer.at(0).second.value).size(), 6u);
    EXPECT_EQ(std::get<int64_t>(checkpoint[2].second.value), 3);
    EXPECT_EQ(std::get<PtList>(checkpoint[3].second.value).size(), 6u);
  }
}

}  // namespace
}  // namespace isinglass::pt_python_test
