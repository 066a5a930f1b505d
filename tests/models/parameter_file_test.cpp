// Parameter files that do not fit are refused, in one line that names the tensor.
#include "models/parameter_file.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <limits>

#include "io/pt/pt_file.h"
#include "io/pt/state_dict.h"
#include "tests/models/samples.h"
#include "tests/support/scratch.h"

namespace isinglass::parameter_file_test {
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

NamedTensors named(const std::string& prefix, const NamedTensors& tensors) {
  NamedTensors all;
  for (const auto& [key, tensor] : tensors) all.emplace_back(prefix + key, tensor);
  return all;
}

PtDict dict_of(const NamedTensors& tensors) {
  PtDict dict;
  for (const auto& [key, tensor] : tensors) dict.emplace_back(key, PtValue{tensor});
  return dict;
}

// Wrappers of modules add their names as prefixes to the names of the wrapped module.
TEST(ParameterFile, OfAWrappedModuleIsThatOfTheModule) {
  for (const ModelSample& sample : model_samples()) {
    SCOPED_TRACE(sample.label);
    if (sample.tensors.empty()) continue;
    const torch::Tensor x =
        torch::zeros({1, load_sample(sample)->space().sites}, load_sample(sample)->space().dtype());
    for (const char* prefix : {"module.", "_orig_mod.", "module._orig_mod.", "net.0.", "rbm."}) {
      ModelSample wrapped = sample;
      wrapped.tensors = named(prefix, sample.tensors);
      EXPECT_EQ(load_sample(wrapped)->named_parameters().size(),
                load_sample(sample)->named_parameters().size())
          << prefix;
      wrapped.tensors.front().first = "other";
      EXPECT_THROW(load_sample(wrapped), Error) << prefix;
    }
  }
  const NamedTensors own = {{"b", torch::ones({2})}};
  NamedTensors averaged = named("module.", own);
  averaged.emplace_back("n_averaged", torch::tensor(7));
  ParameterReader reader("it", parameters_in(PtValue{dict_of(averaged)}, "it"));
  EXPECT_TRUE(torch::equal(reader.real("b", {2}), torch::ones({2})));
  EXPECT_NO_THROW(reader.finish());
}

TEST(ParameterFile, OfACheckpointTheOnlyStateDictCounts) {
  const NamedTensors own = {{"b", torch::ones({2})}};
  const PtDict optimiser = {{"state", {PtDict{{"0", {PtDict{{"step", {torch::ones({})}}}}}}}},
                            {"param_groups", {PtList{}}}};
  for (const char* key : {"state_dict", "model_state_dict", "model", "net"}) {
    const PtDict checkpoint = {{"epoch", {int64_t{3}}},
                               {key, {dict_of(named("module.", own))}},
                               {"buffer", {torch::zeros({4})}},
                               {"optimizer", {optimiser}}};
    ParameterReader reader("it", parameters_in(PtValue{checkpoint}, "it"));
    EXPECT_TRUE(torch::equal(reader.real("b", {2}), torch::ones({2}))) << key;
    EXPECT_NO_THROW(reader.finish());
  }
  const PtDict two = {{"model", {dict_of(own)}}, {"ema_model", {dict_of(own)}}};
  EXPECT_ERROR(
      parameters_in(PtValue{two}, "it"),
      "it holds several state dicts: model, ema_model; the one to load must be in a separate file");
  const PtDict none = {{"epoch", {int64_t{3}}}, {"optimizer", {optimiser}}};
  EXPECT_ERROR(parameters_in(PtValue{none}, "it"), "it holds epoch, which is not a tensor");
}

TEST(ParameterFile, AMissingTensorIsNamedBesideThoseThatAreThere) {
  const NamedTensors theirs = {{"components_", torch::zeros({2, 3})},
                               {"intercept_hidden_", torch::zeros({2})}};
  EXPECT_ERROR(ParameterReader("it", theirs).real("W", {-1, -1}),
               "it: tensor 'W' is missing; it holds 'components_', 'intercept_hidden_'");
}

TEST(ParameterFile, OfATransposedRbmTheMatrixIsNamed) {
  ModelSample sample = sample_of("rbm");
  for (auto& [key, tensor] : sample.tensors) {
    if (key == "W") tensor = tensor.t().contiguous();
  }
  EXPECT_ERROR(load_sample(sample), "tensor 'W' has shape");
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

TEST(ParameterFile, EachRealTensorIsFinite) {
  for (const ModelSample& sample : model_samples()) {
    for (const auto& [key, tensor] : sample.tensors) {
      ModelSample broken = sample;
      if (!tensor.is_floating_point() || key == "mean") continue;
      torch::Tensor bad = tensor.clone(torch::MemoryFormat::Contiguous);
      bad.view(-1).slice(0, 0, 1).fill_(std::numeric_limits<float>::quiet_NaN());
      replace(broken.tensors, key, bad);
      expect_refused(broken, "'" + key + "' holds a value that is not finite");
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

// The value is finite in float64 and infinite as float32.
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
    for (const auto type : {torch::kFloat32, torch::kBool}) {
      replace(broken.tensors, "edges", edges.to(type));
      expect_refused(broken, "'edges' must hold whole numbers");
    }
    ModelSample narrow = sample_of(label);
    replace(narrow.tensors, "edges", narrow.tensors[0].second.to(torch::kInt32));
    const torch::Tensor x = some_states(load_sample(narrow)->space(), 5);
    EXPECT_TRUE(
        torch::equal(load_sample(narrow)->energy(x), load_sample(sample_of(label))->energy(x)));
  }
}

// Numbers that float32 cannot represent, for a model with float64 arithmetic: they keep their
// precision, from a file and in memory. U of `all` is the number itself.
TEST(ParameterFile, Float64NumbersStayFloat64) {
  const Scratch scratch;
  const torch::Tensor edge = torch::tensor({0, 1}).view({1, 2}), none = torch::zeros({2});
  const auto number = [](double value) { return torch::full({1}, value, torch::kFloat64); };
  const torch::Tensor all = torch::ones({1, 2}, torch::kUInt8);
  const torch::Tensor one = torch::tensor({0, 1}).view({1, 2}).to(torch::kUInt8);
  for (const double value : {0.4406867935097715, 16777217.0, 1e-50}) {
    SCOPED_TRACE(value);
    const auto expect = [&](const std::string& model, const NamedTensors& tensors,
                            const torch::Tensor& x, double energy, ModelOptions options = {}) {
      SCOPED_TRACE(model);
      options.tensors = tensors;
      EXPECT_EQ(load_model(model, options)->energy_and_grad(x).energy.item<double>(), energy);
      options.tensors.reset();
      options.weights = scratch / "w.pt";
      write_named_tensors(options.weights, tensors);
      EXPECT_EQ(load_model(model, options)->energy(x).item<double>(), energy);
    };
    const torch::Tensor coupling = number(value), pair = torch::cat({coupling, number(0)});
    expect("ising", {{"edges", edge}, {"coupling", coupling}, {"field", none}}, all, -value);
    expect("ising", {{"edges", edge}, {"coupling", number(0)}, {"field", pair}}, all, -value);
    expect("potts", {{"edges", edge}, {"coupling", coupling}, {"field", torch::zeros({2, 3})}}, all,
           -value);
    expect("bernoulli", {{"theta", pair}}, all, value);
    const auto maxcut =
        load_model("maxcut", {.tensors = NamedTensors{{"edges", edge}, {"weight", coupling}}});
    EXPECT_EQ(maxcut->energy(one).item<double>(), -value);
  }
}

TEST(ParameterFile, WholeNumbersAreRealOnes) {
  const torch::Tensor edge = torch::tensor({0, 1}).view({1, 2}),
                      all = torch::ones({1, 2}, torch::kUInt8);
  const auto of = [&](const torch::Tensor& coupling) {
    const NamedTensors tensors = {
        {"edges", edge}, {"coupling", coupling}, {"field", torch::zeros({2})}};
    return load_model("ising", {.tensors = tensors})->energy(all).item<double>();
  };
  EXPECT_EQ(of(torch::full({1}, 16777217, torch::kInt64)), -16777217);
  EXPECT_EQ(of(torch::full({1}, -3, torch::kInt8)), 3);
  EXPECT_EQ(of(torch::full({1}, true, torch::kBool)), -1);
  EXPECT_EQ(of(torch::full({1}, int64_t{1} << 53, torch::kInt64)), -0x1p53);
  EXPECT_ERROR(of(torch::full({1}, (int64_t{1} << 53) + 1, torch::kInt64)),
               "'coupling' holds whole numbers beyond 9007199254740992");
  EXPECT_ERROR(of(torch::full({1}, 1, torch::kComplexDouble)), "'coupling' holds complex numbers");
}

// Collects the warnings while a function runs.
class Warnings : public c10::WarningHandler {
 public:
  Warnings() { c10::WarningUtils::set_warning_handler(this); }
  ~Warnings() override { c10::WarningUtils::set_warning_handler(nullptr); }
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
  std::vector<std::string> texts;
};

// A network computes in float32, and warns if it rounds other numbers.
TEST(ParameterFile, ANetworkSaysThatItRounds) {
  for (const char* label : {"rbm", "mlp"}) {
    SCOPED_TRACE(label);
    const auto load = [&](double number, torch::ScalarType type) {
      ModelSample sample = sample_of(label);
      auto& [key, tensor] = sample.tensors.front();
      tensor = tensor.to(type).contiguous();
      tensor.view(-1)[0] = number;
      const Warnings warnings;
      load_sample(sample);
      return fmt::format("{}", fmt::join(warnings.texts, "; "));
    };
    EXPECT_EQ(load(0.1, torch::kFloat32), "");
    EXPECT_EQ(load(0.5, torch::kFloat64), "");  // exact in float32, like the others
    const std::string said = load(0.1, torch::kFloat64);
    EXPECT_NE(said.find("the model computes in float32, so that float64 numbers of tensor"),
              std::string::npos)
        << said;
    EXPECT_NE(said.find("by up to 1.5e-08 of their size"), std::string::npos) << said;
    EXPECT_NE(load(1e-50, torch::kFloat64).find("by up to 1 of"), std::string::npos);
    EXPECT_ERROR(load(1e40, torch::kFloat64), "holds a value that is not finite in float32");
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
  expect_refused(broken, "'mean' has 30 values, but an image of 6x6 has 36");
  broken.options.image_height = 5;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float value : {0.0f, 1.0f, -0.5f, nan}) {
    torch::Tensor bad = mean.clone();
    bad[7] = value;
    replace(broken.tensors, "mean", bad);
    expect_refused(broken, "'mean' must lie strictly between 0 and 1");
  }
}

// Only proj.weight determines the number of channels; the model is not built for that many without
// a check.
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
}  // namespace isinglass::parameter_file_test
