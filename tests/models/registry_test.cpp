// The registry: names, new models, and the checks of a batch of states.
#include "models/registry.h"

#include <gtest/gtest.h>

#include <limits>

#include "models/near_name.h"
#include "models/states.h"
#include "tests/support/scratch.h"

namespace isinglass::registry_test {
namespace {

TEST(ModelRegistry, AnUnknownNameListsTheKnownOnesNearestFirst) {
  EXPECT_EQ(nearest_first("isnig", {"rbm", "mlp", "ising"}).front(), "ising");
  EXPECT_EQ(nearest_first("pots", {"resnet", "ising", "potts"}),
            (std::vector<std::string>{"potts", "ising", "resnet"}));
  EXPECT_ERROR(find_model("resnett"), "unknown model 'resnett'; known: resnet, ");
  EXPECT_ERROR(find_model(""), "rbm");
  EXPECT_EQ(find_model("potts").name, "potts");
}

TEST(NearName, IsOnlyOneThatMayHaveBeenMeant) {
  const std::vector<std::string> known = {"init", "steps", "learning-rate", "iters", "lr"};
  EXPECT_EQ(near_name("stepz", known), "steps");
  EXPECT_EQ(near_name("step", known), "steps");
  EXPECT_EQ(near_name("learn", known), "learning-rate");
  EXPECT_EQ(near_name("iterations", known), "iters");
  EXPECT_EQ(near_name("lrr", known), "lr");
  for (const char* far : {"out", "moves", "seed", "x", ""}) EXPECT_EQ(near_name(far, known), "");
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("stpes", "steps"), 1u);  // an exchange of neighbours
  EXPECT_EQ(near_name("stpes", {"sites", "steps", "scan"}), "steps");
}

// Runs in a separate process, because other tests iterate over the registry.
TEST(ModelRegistry, TakesModelsWhileTheProgramRuns) {
  const auto register_mine = [] {
    const ModelEntry& rbm = find_model("rbm");
    ModelEntry mine = rbm;
    mine.name = "mine";
    mine.load = [&rbm](const ModelOptions& options) { return rbm.load(options); };
    register_model(mine);
    EXPECT_EQ(find_model("mine").energy, rbm.energy);
    EXPECT_EQ(&find_model("rbm"), &rbm);  // where it was
    EXPECT_ERROR(register_model(mine), "a model 'mine' is already registered");
    const auto model = new_model("mine", {.image_height = 2, .image_width = 2, .hidden = 3}, 1);
    EXPECT_EQ(model->space().sites, 4);
    return testing::Test::HasFailure() ? 1 : 0;
  };
  EXPECT_EXIT(std::_Exit(register_mine()), testing::ExitedWithCode(0), "");
}

// The random numbers of other code do not change.
TEST(NewModel, LeavesTheGeneratorAsItWas) {
  torch::manual_seed(1);
  const torch::Tensor expected = torch::rand({3});
  torch::manual_seed(1);
  for (const char* name : {"resnet", "mlp", "rbm"}) new_model(name, {.channels = 4}, 9);
  EXPECT_TRUE(torch::equal(torch::rand({3}), expected));
}

TEST(NewModel, IsWhatItsSeedSays) {
  const NewModelOptions small{.image_height = 6, .image_width = 5, .channels = 4, .hidden = 7};
  for (const ModelEntry& entry : model_registry()) {
    if (!entry.trainable()) {
      EXPECT_ERROR(new_model(entry.name, small, 1), "model " + entry.name + " cannot be trained");
      continue;
    }
    if (entry.name == "ising") continue;  // begins without couplings, whatever the seed
    const auto a = new_model(entry.name, small, 1), b = new_model(entry.name, small, 1);
    const auto other = new_model(entry.name, small, 2);
    EXPECT_EQ(a->space().sites, 30);
    const auto parameters = a->parameters();
    ASSERT_FALSE(parameters.empty());
    for (size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_TRUE(torch::equal(parameters[i], b->parameters()[i]));
      EXPECT_TRUE(parameters[i].requires_grad());
    }
    EXPECT_FALSE(torch::equal(parameters[0], other->parameters()[0])) << entry.name;
  }
}

TEST(NewModel, AnRbmStartsAtTheDatasMean) {
  const torch::Tensor mean = torch::linspace(0.1, 0.9, 12);
  const auto rbm =
      new_model("rbm", {.image_height = 3, .image_width = 4, .hidden = 5, .base_mean = mean}, 1);
  EXPECT_TRUE(torch::allclose(torch::sigmoid(rbm->named_parameters()["b_v"]), mean));
  EXPECT_TRUE(rbm->named_parameters()["b_h"].eq(0).all().item<bool>());
}

// Shapes, initial values' range and layout of torch.nn: bias and weight uniform within 1/√fan-in.
TEST(NewModel, AResNetIsInitialisedAsPyTorchDoes) {
  const auto resnet = new_model("resnet", {.channels = 16}, 1);
  for (const auto& p : resnet->named_parameters()) {
    const torch::Tensor& w = p.value();
    if (w.dim() != 4) continue;
    EXPECT_TRUE(w.is_contiguous(at::MemoryFormat::ChannelsLast)) << p.key();
    const double bound = 1 / std::sqrt(static_cast<double>(w[0].numel()));
    EXPECT_LE(w.abs().max().item<double>(), bound * (1 + 1e-6)) << p.key();
    EXPECT_GT(w.abs().max().item<double>(), 0.9 * bound) << p.key();
  }
}

// ResNet-64's were counted by a dispatch mode of PyTorch on the published network.
TEST(NewModel, CountsItsProducts) {
  const FlopCounts resnet = new_model("resnet", {}, 1)->flops();
  EXPECT_NEAR(resnet.energy, 82.4e6, 0.1e6);
  EXPECT_DOUBLE_EQ(resnet.state_gradient, 2 * resnet.energy);
  EXPECT_DOUBLE_EQ(resnet.parameter_gradient, 3 * resnet.energy - 2 * 9 * 64 * 784);

  const FlopCounts rbm = new_model("rbm", {.hidden = 500}, 1)->flops();
  EXPECT_DOUBLE_EQ(rbm.energy, 2 * 784 * 500);
  EXPECT_DOUBLE_EQ(rbm.parameter_gradient, 2 * rbm.energy);

  const FlopCounts mlp = new_model("mlp", {}, 1)->flops();
  EXPECT_DOUBLE_EQ(mlp.energy, 2 * (784 * 256 + 2 * 256 * 256 + 256));
}

TEST(CheckStates, NamesWhatIsWrong) {
  const StateSpace binary{StateKind::kBinary, 4, 2}, ternary{StateKind::kCategorical, 4, 3};
  const torch::Tensor twos = torch::full({3, 4}, 2, torch::kUInt8);
  EXPECT_NO_THROW(check_states(ternary, twos, "states"));
  EXPECT_NO_THROW(check_states(binary, twos.slice(0, 0, 0), "states"));
  EXPECT_ERROR(check_states(binary, twos, "states"), "states hold the value 2");
  EXPECT_ERROR(check_states(ternary, twos.slice(1, 0, 3), "states"), "[3, 3]");
  EXPECT_ERROR(check_states(ternary, twos[0], "states"), "needs [N, 4]");
  EXPECT_ERROR(check_states(ternary, twos.to(torch::kFloat32), "states"), "must be uint8");
  const StateSpace permutations{StateKind::kPermutation, 4, 4};
  const torch::Tensor twice = torch::tensor({0, 1, 2, 3, 3, 2, 1, 1}, torch::kInt64).view({2, 4});
  EXPECT_NO_THROW(check_states(permutations, twice.slice(0, 0, 1), "states"));
  EXPECT_ERROR(check_states(permutations, twice, "states"), "1 rows that are not permutations");
  EXPECT_ERROR(check_states(permutations, twice + 1, "states"), "not permutations of 0 to 3");
  EXPECT_ERROR(check_states(permutations, twos, "states"), "must be int64");
  const StateSpace real{StateKind::kContinuous, 4};
  EXPECT_ERROR(check_states(real, twos, "states"), "must be float32");
}

TEST(AsStates, TakesWholeNumbersOfAnyType) {
  const StateSpace binary{StateKind::kBinary, 4, 2}, ternary{StateKind::kCategorical, 4, 3};
  const torch::Tensor states = torch::tensor({0, 1, 1, 0, 1, 1, 0, 1}).view({2, 4});
  const torch::Tensor expected = states.to(torch::kUInt8);
  for (const auto type :
       {torch::kBool, torch::kUInt8, torch::kInt8, torch::kInt16, torch::kInt32, torch::kInt64}) {
    SCOPED_TRACE(type);
    const torch::Tensor taken = as_states(binary, states.to(type), "x");
    EXPECT_EQ(taken.scalar_type(), torch::kUInt8);
    EXPECT_TRUE(torch::equal(taken, expected));
  }
  EXPECT_TRUE(torch::equal(as_states(ternary, states * 2, "x"), expected * 2));
  const StateSpace permutations{StateKind::kPermutation, 4, 4};
  const torch::Tensor order = torch::tensor({2, 0, 3, 1}).view({1, 4});
  EXPECT_TRUE(
      torch::equal(as_states(permutations, order.to(torch::kUInt8), "x"), order.to(torch::kInt64)));
}

TEST(AsStates, RefusesWhatWouldBecomeOtherValues) {
  const StateSpace binary{StateKind::kBinary, 2, 2}, many{StateKind::kCategorical, 2, 256};
  const auto of = [](int64_t a, int64_t b, torch::ScalarType type = torch::kInt64) {
    return torch::tensor({a, b}, torch::kInt64).view({1, 2}).to(type);
  };
  for (const auto type : {torch::kInt8, torch::kInt64}) {
    EXPECT_ERROR(as_states(binary, of(-1, 1, type), "x"), "(x + 1) / 2");
    EXPECT_ERROR(as_states(binary, of(-1, -1, type), "x"), "(x + 1) / 2");
    EXPECT_ERROR(as_states(binary, of(0, -2, type), "x"), "x hold the value -2");
    EXPECT_ERROR(as_states(binary, of(0, 10, type), "x"), "x hold the value 10");
  }
  EXPECT_ERROR(as_states(many, of(0, 256), "x"), "x hold the value 256");  // 0 in uint8
  EXPECT_ERROR(as_states(many, of(-1, 3), "x"), "x hold the value -1");
  EXPECT_ERROR(as_states(binary, of(0, 1).to(torch::kFloat32), "x"),
               "must be uint8, but are float32");
  EXPECT_ERROR(as_states({StateKind::kContinuous, 2}, of(0, 1), "x"),
               "must be float32, but are int64");
}

TEST(CheckSpace, AllowsWhatKernelsCanNumber) {
  const int64_t most = std::numeric_limits<int32_t>::max();
  EXPECT_NO_THROW(check_space({StateKind::kBinary, most, 2}, "m"));
  EXPECT_ERROR(check_space({StateKind::kBinary, most + 1, 2}, "m"), "m has 2147483648 sites");
  EXPECT_ERROR(check_space({StateKind::kContinuous, 0}, "m"), "m has 0 sites");
  EXPECT_NO_THROW(check_space({StateKind::kCategorical, 3, 256}, "m"));
  EXPECT_ERROR(check_space({StateKind::kCategorical, 3, 257}, "m"), "m has 257 values");
  EXPECT_NO_THROW(check_space({StateKind::kPermutation, 65536, 65536}, "m"));
  EXPECT_ERROR(check_space({StateKind::kPermutation, 65537, 65537}, "m"), "permutes 65537 entries");
}

}  // namespace
}  // namespace isinglass::registry_test
