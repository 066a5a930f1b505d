#include "io/pt/pt_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "io/files.h"
#include "tests/support/full_disk.h"
#include "tests/support/scratch.h"
#include "tests/support/source_tree.h"

namespace isinglass::pt_file_test {
namespace {

std::filesystem::path corpus(const std::string& name) {
  return source_tree() / "tests/io/corpus" / (name + ".pt");
}

const PtValue& at(const PtValue& dict, const std::string& name) {
  for (const auto& [key, value] : std::get<PtDict>(dict.value))
    if (key == name) return value;
  throw std::out_of_range(name);
}

torch::Tensor tensor_at(const PtValue& dict, const std::string& name) {
  return std::get<torch::Tensor>(at(dict, name).value);
}

template <class T>
T scalar_at(const PtValue& dict, const std::string& name) {
  return std::get<T>(at(dict, name).value);
}

// The same type, shape and bits.
void expect_same(const torch::Tensor& actual, const torch::Tensor& expected) {
  EXPECT_EQ(actual.scalar_type(), expected.scalar_type());
  EXPECT_TRUE(actual.device().is_cpu());
  EXPECT_FALSE(actual.requires_grad());
  EXPECT_TRUE(torch::equal(actual, expected)) << actual << "\n is not \n" << expected;
}

std::vector<torch::ScalarType> types() {
  return {torch::kFloat, torch::kDouble, torch::kHalf, torch::kBFloat16, torch::kLong,
          torch::kInt,   torch::kShort,  torch::kChar, torch::kByte,     torch::kBool};
}

// ---- Reading what torch.save wrote ----

TEST(PtRead, AModulesStateDictInItsOrder) {
  const NamedTensors tensors = read_named_tensors(corpus("good_module"));
  const std::vector<std::pair<std::string, torch::Tensor>> expected = {
      {"0.weight", torch::tensor({{0.f, 1.f}})},
      {"0.bias", torch::tensor({10.f})},
      {"1.weight", torch::tensor({20.f})},
      {"1.bias", torch::tensor({30.f})},
      {"1.running_mean", torch::tensor({0.f})},
      {"1.running_var", torch::tensor({1.f})},
      {"1.num_batches_tracked", torch::tensor(int64_t{0})}};
  ASSERT_EQ(tensors.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(tensors[i].first, expected[i].first);
    expect_same(tensors[i].second, expected[i].second);
  }
}

TEST(PtRead, AnOptimizersStateDict) {
  const PtValue content = read_pt(corpus("good_optimizer"));
  const PtValue& moments = at(at(content, "state"), "0");  // an integer key in Python
  expect_same(tensor_at(moments, "step"), torch::tensor(1.f));
  EXPECT_TRUE(torch::allclose(tensor_at(moments, "exp_avg"), torch::tensor({0.1f, -0.1f})));
  const PtValue& group = std::get<PtList>(at(content, "param_groups").value).at(0);
  EXPECT_EQ(scalar_at<double>(group, "lr"), 0.5);
  EXPECT_EQ(scalar_at<bool>(group, "amsgrad"), false);
  const PtList& betas = std::get<PtList>(at(group, "betas").value);
  EXPECT_EQ(std::get<double>(betas.at(1).value), 0.999);
  EXPECT_EQ(std::get<int64_t>(std::get<PtList>(at(group, "params").value).at(0).value), 0);
}

TEST(PtRead, EveryElementType) {
  const PtValue content = read_pt(corpus("good_types"));
  const std::vector<std::string> names = {"float32", "float64", "float16", "bfloat16", "int64",
                                          "int32",   "int16",   "int8",    "uint8",    "bool"};
  for (size_t i = 0; i < names.size(); ++i)
    expect_same(tensor_at(content, names[i]), torch::tensor({0, 1, 100}).to(types()[i]));
}

TEST(PtRead, ViewsOfOneStorage) {
  const PtValue content = read_pt(corpus("good_views"));
  const torch::Tensor base = torch::arange(12.f);
  expect_same(tensor_at(content, "base"), base);
  expect_same(tensor_at(content, "slice"), base.slice(0, 4, 7));
  expect_same(tensor_at(content, "transposed"), base.view({3, 4}).t());
  expect_same(tensor_at(content, "every_other"), base.slice(0, 1, 12, 2));
  expect_same(tensor_at(content, "repeated"), torch::full({2, 3}, 7.f));
  expect_same(tensor_at(content, "number"), torch::tensor(int64_t{5}));
  expect_same(tensor_at(content, "empty"), torch::empty({0, 3}));
  expect_same(tensor_at(content, "empty_slice"), torch::empty({0}));
  EXPECT_EQ(tensor_at(content, "slice").storage().data(), tensor_at(content, "base").data_ptr());
}

TEST(PtRead, NestedValues) {
  const PtValue content = read_pt(corpus("good_nested"));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(at(content, "none").value));
  const PtList& flags = std::get<PtList>(at(content, "flags").value);
  EXPECT_TRUE(std::get<bool>(flags.at(0).value));
  EXPECT_FALSE(std::get<bool>(flags.at(1).value));
  using Limits = std::numeric_limits<int64_t>;
  const std::vector<int64_t> integers = {
      0, 255, 256, -1, int64_t{1} << 31, -(int64_t{1} << 40), Limits::max(), Limits::min()};
  const PtList& read = std::get<PtList>(at(content, "integers").value);
  ASSERT_EQ(read.size(), integers.size());
  for (size_t i = 0; i < integers.size(); ++i)
    EXPECT_EQ(std::get<int64_t>(read[i].value), integers[i]);
  const PtList& numbers = std::get<PtList>(at(content, "numbers").value);
  EXPECT_EQ(std::get<double>(numbers.at(0).value), 0.5);
  EXPECT_EQ(std::get<double>(numbers.at(1).value), INFINITY);
  EXPECT_TRUE(std::signbit(std::get<double>(numbers.at(2).value)));
  EXPECT_EQ(scalar_at<std::string>(content, "text"), "ψ ≠ φ");
  const PtValue& inner = at(content, "inner");
  const PtList& list = std::get<PtList>(at(inner, "list").value);
  EXPECT_TRUE(std::get<PtList>(list.at(0).value).empty());
  EXPECT_EQ(std::get<int64_t>(std::get<PtList>(list.at(1).value).at(0).value), 1);
  expect_same(tensor_at(at(inner, "3"), "deep"), torch::ones(1));
}

TEST(PtRead, SingleTensorsParametersProtocolFourAndCuda) {
  const torch::Tensor expected = torch::arange(6, torch::kInt).view({2, 3});
  expect_same(read_tensor(corpus("good_tensor")), expected);
  expect_same(read_tensor(corpus("good_cuda")), expected);
  expect_same(read_tensor(corpus("good_parameter")), torch::tensor({1.f, 2.f}));
  expect_same(read_named_tensors(corpus("good_protocol4")).at(0).second, torch::tensor({1.5f}));
}

TEST(PtRead, AFileOfTheWrongKindIsAnError) {
  EXPECT_ERROR(read_tensor(corpus("good_module")), "does not hold a single tensor");
  EXPECT_ERROR(read_named_tensors(corpus("good_tensor")), "not hold a dictionary of tensors");
  EXPECT_ERROR(read_named_tensors(corpus("good_nested")), "none, which is not a tensor");
  EXPECT_ERROR(read_pt(corpus("absent")), "No such file or directory");
  EXPECT_ERROR(read_pt(source_tree()), "it is a directory");
  EXPECT_ERROR(read_pt("/dev/null"), "not a regular file");
}

// ---- Refusing what must not be read ----

TEST(PtRefusal, EveryBadFileOfTheCorpusByItsSentence) {
  const std::vector<std::pair<std::string, std::string>> sentences = {
      {"archive", "it has no data.pkl"},
      {"bool", "a bool other than 0 and 1"},
      {"checksum", "wrong checksum in data/0"},
      {"class", "the Python object collections.OrderedDict itself"},
      {"complex", "refers to torch.ComplexFloatStorage"},
      {"compressed", "compressed records"},
      {"cycle", "more than 100 levels"},
      {"depth", "more than 100 levels"},
      {"empty", "is empty"},
      {"endian", "big-endian"},
      {"global", "refers to os.system, which is refused"},
      {"key", "neither text nor an integer"},
      {"laughs", "unfolds into more than"},
      {"legacy", "before 1.6"},
      {"long", "more than 64 bits"},
      {"mark", "damaged pickle"},
      {"memo", "damaged pickle"},
      {"negative", "impossible size -1"},
      {"offset", "outside its storage of 6 elements"},
      {"opcode", "opcode 0x49"},
      {"overflow", "impossible size 4611686018427387904"},
      {"script", "TorchScript program"},
      {"set", "refers to __builtin__.set"},
      {"short_storage", "has 5 elements in data/0, but data.pkl gives 6"},
      {"size", "outside its storage of 6 elements"},
      {"sparse", "refers to torch._utils._rebuild_sparse_tensor"},
      {"stack", "damaged pickle"},
      {"storage", "a storage outside a tensor"},
      {"stride", "outside its storage of 6 elements"},
      {"text", "is a text file, not a PyTorch file of tensors"},
      {"twice", "the same key twice"},
      {"unfolded", "repeats 1 stored elements"},
      {"utf8", "not UTF-8"}};
  for (const auto& [name, words] : sentences) {
    SCOPED_TRACE(name);
    const auto file = corpus("bad_" + name);
    EXPECT_ERROR(read_pt(file), words);
    EXPECT_ERROR(read_pt(file), file.string() + " ");
  }
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus("").parent_path()))
    files += entry.path().filename().string().starts_with("bad_");
  EXPECT_EQ(files, sentences.size()) << "every bad file of the corpus needs its sentence here";
}

TEST(PtRefusal, EveryTruncationAndEveryFlippedByteOfTheData) {
  const std::string bytes = read_file(corpus("good_tensor"));
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THROW(read_pt_bytes(bytes.substr(0, length), "input"), Error) << length;
  EXPECT_THROW(read_pt_bytes(bytes + "x", "input"), Error);
  const size_t pickle = bytes.find("_rebuild_tensor_v2");
  for (size_t i = pickle; i < pickle + 18; ++i) {
    std::string flipped = bytes;
    flipped[i] ^= 0x20;
    EXPECT_ERROR(read_pt_bytes(flipped, "input"), "input has a wrong checksum in data.pkl");
  }
}

// ---- Writing ----

PtValue checkpoint() {
  return {PtDict{{"iteration", {int64_t{70000}}},
                 {"large", {int64_t{1} << 40}},
                 {"rate", {1e-4}},
                 {"nan", {NAN}},
                 {"done", {false}},
                 {"name", {std::string("strokes")}},
                 {"none", {}},
                 {"list", {PtList{{int64_t{1}}, {std::string("strokes")}, {PtList{}}}}},
                 {"model", {PtDict{{"w", {torch::arange(6.f).view({2, 3})}}, {"e", {PtDict{}}}}}}}};
}

TEST(PtWrite, NestedValuesComeBack) {
  const Scratch scratch;
  write_pt(scratch / "a.pt", checkpoint());
  const PtValue content = read_pt(scratch / "a.pt");
  std::vector<std::string> names;
  for (const auto& [name, value] : std::get<PtDict>(content.value)) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"iteration", "large", "rate", "nan", "done", "name",
                                             "none", "list", "model"}));
  EXPECT_EQ(scalar_at<int64_t>(content, "iteration"), 70000);
  EXPECT_EQ(scalar_at<int64_t>(content, "large"), int64_t{1} << 40);
  EXPECT_EQ(scalar_at<double>(content, "rate"), 1e-4);
  EXPECT_TRUE(std::isnan(scalar_at<double>(content, "nan")));
  EXPECT_EQ(scalar_at<bool>(content, "done"), false);
  EXPECT_EQ(scalar_at<std::string>(content, "name"), "strokes");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(at(content, "none").value));
  const PtList& list = std::get<PtList>(at(content, "list").value);
  EXPECT_EQ(std::get<int64_t>(list.at(0).value), 1);
  EXPECT_EQ(std::get<std::string>(list.at(1).value), "strokes");
  EXPECT_TRUE(std::get<PtList>(list.at(2).value).empty());
  expect_same(tensor_at(at(content, "model"), "w"), torch::arange(6.f).view({2, 3}));
  EXPECT_TRUE(std::get<PtDict>(at(at(content, "model"), "e").value).empty());
  EXPECT_EQ(scratch.files(), 1u);
}

TEST(PtWrite, TextOfEveryLengthOfCharacterComesBack) {
  const Scratch scratch;
  const std::string text = "a\x7f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff";
  write_pt(scratch / "a.pt", {text});
  EXPECT_EQ(std::get<std::string>(read_pt(scratch / "a.pt").value), text);
}

TEST(PtWrite, TensorsOfEveryTypeAndLayoutComeBack) {
  const Scratch scratch;
  NamedTensors tensors;
  for (const torch::ScalarType type : types())
    tensors.emplace_back(toString(type), torch::tensor({0, 1, 100}).to(type));
  const torch::Tensor base = torch::arange(24.f).view({2, 3, 4});
  tensors.emplace_back("permuted", base.permute({2, 0, 1}));
  tensors.emplace_back("slice", base.narrow(1, 1, 1));
  tensors.emplace_back("expanded", torch::ones({1, 2}).expand({3, 2}));
  tensors.emplace_back("number", torch::tensor(2.5));
  tensors.emplace_back("empty", torch::empty({0, 5}));
  tensors.emplace_back("twice", base);
  tensors.emplace_back("again", base);
  tensors.emplace_back("parameter", torch::ones({2}).requires_grad_());
  write_named_tensors(scratch / "a.pt", tensors);
  const NamedTensors read = read_named_tensors(scratch / "a.pt");
  ASSERT_EQ(read.size(), tensors.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].first, tensors[i].first);
    expect_same(read[i].second, tensors[i].second.detach());
    EXPECT_TRUE(read[i].second.is_contiguous());
  }
}

TEST(PtWrite, AViewTakesItsOwnSizeOnly) {
  const Scratch scratch;
  write_pt(scratch / "a.pt", {torch::zeros({1 << 20}).narrow(0, 5, 3)});
  EXPECT_LT(std::filesystem::file_size(scratch / "a.pt"), 4096u);
}

TEST(PtWrite, TheSameValueGivesTheSameBytes) {
  const Scratch scratch;
  write_pt(scratch / "a.pt", checkpoint());
  write_pt(scratch / "b.pt", checkpoint());
  EXPECT_EQ(read_file(scratch / "a.pt"), read_file(scratch / "b.pt"));
}

TEST(PtWrite, WhatTheFormatCannotHoldIsAnError) {
  const Scratch scratch;
  const auto file = scratch / "a.pt";
  EXPECT_ERROR(write_pt(file, {torch::zeros({1}, torch::kComplexFloat)}), "ComplexFloat");
  EXPECT_ERROR(write_pt(file, {torch::eye(2).to_sparse()}), "Sparse");
  EXPECT_ERROR(write_pt(file, {torch::Tensor()}), "undefined");
  for (const char* text : {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
    EXPECT_ERROR(write_pt(file, {std::string(text)}), "UTF-8");
  EXPECT_ERROR(write_pt(file, {PtDict{{"a", {}}, {"a", {}}}}), "the key a twice");
  EXPECT_EQ(scratch.files(), 0u);
}

TEST(PtWrite, AFullDiskLeavesTheOldFileAndNothingElse) {
  const Scratch scratch;
  write_pt(scratch / "a.pt", {torch::ones({1})});
  {
    const FullDisk disk(1 << 20);
    // Full within a record, and full only when the directory at the end is written.
    EXPECT_ERROR(write_pt(scratch / "a.pt", {torch::zeros({1 << 20})}), "File too large");
    EXPECT_ERROR(write_pt(scratch / "b.pt", {torch::zeros({(1 << 20) - 900}, torch::kByte)}),
                 "File too large");
  }
  expect_same(read_tensor(scratch / "a.pt"), torch::ones({1}));
  EXPECT_EQ(scratch.files(), 1u);
  EXPECT_ERROR(write_pt(scratch / "no/a.pt", {torch::ones({1})}), "No such file or directory");
}

// Above 4 GiB the archive's sizes and offsets stand in zip64 fields.
TEST(PtFileLong, MoreThanFourGigabytes) {
  const Scratch scratch;
  if (std::filesystem::space(scratch.folder()).available < size_t{10} << 30)
    GTEST_SKIP() << "needs 10 GiB of disk";
  torch::Tensor large = torch::zeros({(int64_t{1} << 32) + 100}, torch::kByte);
  large[-1] = 7;
  write_named_tensors(scratch / "a.pt", {{"large", large}, {"after", torch::arange(3.f)}});
  const NamedTensors read = read_named_tensors(scratch / "a.pt");
  expect_same(read.at(1).second, torch::arange(3.f));
  expect_same(read.at(0).second, large);
}

}  // namespace
}  // namespace isinglass::pt_file_test
