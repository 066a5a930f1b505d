// A model's identity depends on every number of its energy.
#include "models/identity.h"

#include <gtest/gtest.h>

#include <fstream>

#include "io/pt/pt_file.h"
#include "io/sha256.h"
#include "models/registry.h"
#include "tests/models/script_files.h"
#include "tests/support/scratch.h"

namespace isinglass::identity_test {
namespace {

TEST(ModelIdentity, OfATrainedNetworkIsThatOfItsFile) {
  const Scratch scratch;
  for (const char* name : {"rbm", "mlp", "resnet"}) {
    NewModelOptions fresh;
    fresh.image_height = fresh.image_width = 8;
    fresh.channels = 2;
    fresh.hidden = 3;
    const auto model = new_model(name, fresh, 5);
    NamedTensors tensors;
    for (const auto& p : model->named_parameters()) tensors.emplace_back(p.key(), p.value());
    for (const auto& b : model->named_buffers()) tensors.emplace_back(b.key(), b.value());
    write_named_tensors(scratch / "w.pt", tensors);
    ModelOptions options;
    options.weights = scratch / "w.pt";
    options.image_height = options.image_width = 8;
    const auto loaded = load_model(name, options);
    const std::string hash = sha256(read_named_tensors(scratch / "w.pt"));
    EXPECT_EQ(parameters_sha256(*loaded), hash) << name;
    torch::NoGradGuard no_grad;
    loaded->parameters().back().view(-1)[0] += 1e-6;
    EXPECT_NE(parameters_sha256(*loaded), hash) << name;
  }
}

TEST(ModelIdentity, HoldsThePenaltyOfAGraphProblem) {
  const Scratch scratch;
  std::ofstream(scratch / "graph.txt") << "0 1\n1 2\n2 3\n";
  ModelOptions options;
  options.weights = scratch / "graph.txt";
  const std::string by_default = parameters_sha256(*load_model("mis", options));
  options.penalty = 3;
  EXPECT_NE(parameters_sha256(*load_model("mis", options)), by_default);
}

// A script has no visible parameters.
TEST(ModelIdentity, HoldsTheProgramOfAScript) {
  const Scratch scratch;
  std::vector<std::string> hashes;
  for (const char* body : {"return x.square().sum(1)", "return x.square().sum(1) * 2"}) {
    write_script(scratch / "s.pt", std::string("def forward(self, x):\n    ") + body + "\n");
    ModelOptions options;
    options.weights = scratch / "s.pt";
    options.sites = 2;
    hashes.push_back(parameters_sha256(*load_model("script", options)));
  }
  EXPECT_NE(hashes[0], hashes[1]);
}

}  // namespace
}  // namespace isinglass::identity_test
