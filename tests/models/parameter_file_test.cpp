// Parameter files that do not fit are refused, in one line that names the tensor.
#include "models/parameter_file.h"

#include <gtest/gtest.h>

#include <limits>

#include "io/pt/pt_file.h"
#include "tests/models/samples.h"
#include "tests/support/scratch.h"

namespace isinglass {
namespace {

ModelSample sample_of(const std::string& label) {
  for (const ModelSample& sample : model_samples()) {
    if (sample.label == label) return sample;
  }
  throw std::out_of_range(label);
}

void expect_refused(const ModelSample& sample, const std::string& words) {
  SCOPED_TRACE(sample.label + ": " + words);
  EXPECT_ERROR(load_sample(sample), words);
}

TEST(ParameterFile, EachTensorOfEachModelIsNeeded) {
  for (const ModelSample& sample : model_samples()) {
    for (const auto& [key, tensor] : sample.tensors) {
      if (key == "mean") continue;  // optional
      ModelSample broken = sample;
      std::erase_if(broken.tensors, [&key = key](const auto& t) { return t.first == key; });
      expect_refused(broken, "'" + key + "' is missing");
    }
  }
}

TEST(ParameterFile, OfACheckpointTheAveragesCount) {
  const Scratch scratch;
  const auto of = [](double number) { return torch::full({2}, number, torch::kFloat32); };
  const PtDict parameters = {{"b", {of(1)}}, {"mean", {of(3)}}};  // the data's mean is not learned
  const PtDict averages = {{"b", {of(2)}}};
  write_pt(scratch / "c.pt", {PtDict{{"iteration", {int64_t{7}}},
                                     {"parameters", {parameters}},
                                     {"averages", {averages}}}});
  ParameterReader reader(scratch / "c.pt");
  EXPECT_TRUE(torch::equal(reader.real("b", {2}), of(2)));
  EXPECT_TRUE(torch::equal(reader.real("mean", {2}), of(3)));
  reader.finish();
}

TEST(ParameterFile, EachTensorHasItsShape) {
  for (const ModelSample& sample : model_samples()) {
    for (const auto& [key, tensor] : sample.tensors) {
      ModelSample broken = sample;
      replace(broken.tensors, key, tensor.unsqueeze(0));
      expect_refused(broken, "'" + key + "' has shape");
    }
  }
}

TEST(ParameterFile, EachRealTensorIsFiniteAndFloatingPoint) {
  for (const ModelSample& sample : model_samples()) {
    for (const auto& [key, tensor] : sample.tensors) {
      ModelSample broken = sample;
      if (key == "edges" || key == "mean") continue;
      torch::Tensor bad = tensor.clone(torch::MemoryFormat::Contiguous);
      bad.view(-1).slice(0, 0, 1).fill_(std::numeric_limits<float>::quiet_NaN());
      replace(broken.tensors, key, bad);
      expect_refused(broken, "'" + key + "' holds a value that is not finite");
      replace(broken.tensors, key, tensor.to(torch::kInt64));
      expect_refused(broken, "'" + key + "' must hold floating-point numbers");
    }
  }
}

TEST(ParameterFile, AnInfiniteValueIsRefused) {
  ModelSample broken = sample_of("bernoulli");
  for (const double value : {1.0, -1.0}) {
    replace(broken.tensors, "theta",
            torch::full({7}, value * std::numeric_limits<double>::infinity()));
    expect_refused(broken, "'theta' holds a value that is not finite");
  }
}

// Finite in float64, infinite as float32.
TEST(ParameterFile, AValueOutsideFloat32IsRefused) {
  ModelSample broken = sample_of("bernoulli");
  replace(broken.tensors, "theta", torch::full({7}, 1e300, torch::kFloat64));
  expect_refused(broken, "'theta' holds a value that is not finite");
}

TEST(ParameterFile, AnExtraTensorIsRefused) {
  for (ModelSample sample : model_samples()) {
    if (sample.write) continue;
    sample.tensors.emplace_back("momentum", torch::zeros({2}));
    expect_refused(sample, "unexpected tensor 'momentum'");
  }
}

TEST(ParameterFile, EdgesJoinTwoSitesOfTheModel) {
  for (const char* label : {"ising", "potts"}) {
    ModelSample broken = sample_of(label);
    torch::Tensor edges = broken.tensors[0].second.clone();
    for (const int64_t site : {-1, 6}) {
      edges[2][1] = site;
      replace(broken.tensors, "edges", edges);
      expect_refused(broken, "'edges' names a site outside 0 to 5");
    }
    edges[2][1] = edges[2][0];
    expect_refused(broken, "'edges' joins a site with itself");
    replace(broken.tensors, "edges", edges.to(torch::kInt32));
    expect_refused(broken, "'edges' must hold int64 numbers");
    replace(broken.tensors, "edges", edges.to(torch::kFloat32));
    expect_refused(broken, "'edges' must hold int64 numbers");
  }
}

TEST(ParameterFile, AGraphWithoutEdgesIsFine) {
  ModelSample sample = sample_of("ising");
  replace(sample.tensors, "edges", torch::empty({0, 2}, torch::kInt64));
  replace(sample.tensors, "coupling", torch::empty({0}));
  const auto model = load_sample(sample);
  const torch::Tensor up = torch::ones({1, 6}, torch::kUInt8);
  EXPECT_NEAR(model->energy_and_grad(up).energy.item<double>(),
              -sample.tensors[2].second.to(torch::kFloat64).sum().item<double>(), 1e-12);
}

TEST(ParameterFile, AModelHasSitesAndCategories) {
  ModelSample empty = sample_of("bernoulli");
  replace(empty.tensors, "theta", torch::empty({0}));
  expect_refused(empty, "no sites");
  ModelSample flat = sample_of("categorical");
  replace(flat.tensors, "theta", torch::zeros({5, 1}));
  expect_refused(flat, "'theta' has 1 categories");
  replace(flat.tensors, "theta", torch::zeros({5, 257}));
  expect_refused(flat, "'theta' has 257 categories");
}

TEST(ParameterFile, TheBaseMeanFitsTheImage) {
  ModelSample broken = sample_of("resnet_base");
  const torch::Tensor mean = broken.tensors.back().second;
  broken.options.image_height = 6;
  expect_refused(broken, "'mean' has 30 values; an image of 6x6 has 36");
  broken.options.image_height = 5;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float value : {0.0f, 1.0f, -0.5f, nan}) {
    torch::Tensor bad = mean.clone();
    bad[7] = value;
    replace(broken.tensors, "mean", bad);
    expect_refused(broken, "'mean' must lie strictly between 0 and 1");
  }
}

// proj.weight alone says how many channels there are; the model is not built for them on its word.
TEST(ParameterFile, ChannelsThatTheFileDoesNotHoldAreRefused) {
  ModelSample broken = sample_of("resnet");
  replace(broken.tensors, "proj.weight", torch::zeros({1 << 20, 1, 3, 3}));
  expect_refused(broken, "'net.0.conv1.weight' has shape");
  replace(broken.tensors, "proj.weight", torch::zeros({0, 1, 3, 3}));
  expect_refused(broken, "'proj.weight' has no channels");
}

TEST(ParameterFile, FlagsAgreeWithTheFile) {
  ModelSample sample = sample_of("ising");
  sample.options.sites = 6;
  sample.options.categories = 2;
  EXPECT_EQ(load_sample(sample)->space().sites, 6);
  sample.options.sites = 7;
  expect_refused(sample, "sites is 7");
  sample.options.sites = 6;
  sample.options.categories = 3;
  expect_refused(sample, "categories is 3");
  ModelSample mlp = sample_of("mlp");  // 9 inputs
  mlp.options.categories = 4;
  expect_refused(mlp, "9 inputs are not a multiple of categories 4");
  for (const int64_t impossible : {-3, 0, 1, 257}) {
    mlp.options.categories = impossible;
    expect_refused(mlp, fmt::format("categories is {}; 2 to 256", impossible));
  }
}

TEST(ParameterFile, ParityNeedsItsSites) {
  ModelSample parity = sample_of("parity");
  parity.options.sites = {};
  EXPECT_ERROR(load_sample(parity), "model parity needs sites D");
}

TEST(ParameterFile, CostsOfPermutationsAreSquare) {
  ModelSample broken = sample_of("permutation");
  replace(broken.tensors, "w", torch::zeros({4, 5}));
  expect_refused(broken, "'w' has shape [4, 5]; it must be square");
  replace(broken.tensors, "w", torch::zeros({1, 1}));
  expect_refused(broken, "2 x 2 or larger");
}

TEST(ParameterFile, AMissingFileIsNamed) {
  EXPECT_ERROR(load_model("rbm", {.weights = "nowhere/weights.pt"}), "nowhere/weights.pt");
  EXPECT_ERROR(load_model("rbm", {}), "W [H,D], b_v [D], b_h [H]");
}

}  // namespace
}  // namespace isinglass
