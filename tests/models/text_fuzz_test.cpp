// Graphs, quadratic functions and networks damaged at random: their readers give a model that can
// be evaluated, or one Error.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "io/error.h"
#include "models/density/bayesnet.h"
#include "models/lattice/graph_file.h"
#include "models/lattice/quadratic_file.h"
#include "tests/support/fuzzing.h"
#include "tests/support/scratch.h"

namespace isinglass::text_fuzz_test {
namespace {

void fuzz(const std::vector<std::string>& texts, std::string_view alphabet,
          const std::function<void(const std::filesystem::path&)>& read) {
  const Scratch scratch;
  int accepted = 0, refused = 0;
  size_t round = 0;
  for (Fuzzing fuzzing(1500); fuzzing.next(); ++round) {
    for (const std::string& text : texts) {
      const std::string& other = texts[round % texts.size()];
      std::ofstream(scratch / "text") << mutated(fuzzing.random, text, other, alphabet);
      try {
        read(scratch / "text");
        ++accepted;
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(accepted, 20);  // otherwise the damage would not reach the reader's depths
  EXPECT_GT(refused, 100);
}

TEST(TextFuzz, Graphs) {
  const std::vector<std::string> texts = {"0 1 1\n2 1 -2\n\n  2\t3 1.5\r\n",
                                          "# optimum 2.5\n4 3\n1 2\n3 2\n3 4\n",
                                          "c a path\np edge 4 3\ne 1 2 1\ne 3 2 -2e1\ne 3 4 .5\n",
                                          "%%MatrixMarket matrix coordinate real general\n"
                                          "3 3 2\n1 2 .5\n3 2 1\n",
                                          "3 2 1\n2 7\n1 7 3 9\n2 9\n",
                                          "u,v\n0,1,{'weight': 2}\n1;2;3\n"};
  fuzz(texts, "0123456789 .-\nepc#%,;{}'", [](const std::filesystem::path& file) {
    const Graph graph = read_graph(file);
    if (graph.edges.size(0) == 0) return;
    EXPECT_GE(graph.edges.min().item<int64_t>(), 0);
    EXPECT_LT(graph.edges.max().item<int64_t>(), graph.vertices);
    EXPECT_TRUE(graph.weight.isfinite().all().item<bool>());
  });
}

TEST(TextFuzz, QuadraticFunctions) {
  const std::vector<std::string> texts = {
      "0 0 1.5\n1 1 -2\n0 1 3\n1 2 -0.25\n", "# offset 2\n3 4\n1 1 1.5\n2 2 -2\n1 2 3\n2 3 .5\n",
      "p qubo 0 3 2 2\n0 0 1.5\n1 1 -2\n0 1 3\n1 2 -0.25\n",
      "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 1 .5\n3 2 1\n"};
  fuzz(texts, "0123456789 .-\nepc#%,;", [](const std::filesystem::path& file) {
    const Quadratic function = read_quadratic(file, Variables::kBinary);
    EXPECT_TRUE(function.linear.isfinite().all().item<bool>());
    EXPECT_TRUE(function.weight.isfinite().all().item<bool>());
    if (function.edges.size(0) == 0) return;
    EXPECT_GE(function.edges.min().item<int64_t>(), 0);
    EXPECT_LT(function.edges.max().item<int64_t>(), function.linear.size(0));
  });
}

TEST(TextFuzz, BayesianNetworks) {
  const std::vector<std::string> texts = {
      "BAYES 3 2 2 2 3\n1 0\n2 0 1\n3 0 1 2\n2 .3 .7\n4 .1 .9 .2 .8\n"
      "8 .5 .5 .5 .5 .9 .1 0.25 0.75\n",
      "BAYES 2  3 3  2  1 0  2 0 1  3 .2 .3 .5  9 .1 .2 .7  .3 .3 .4  .6 .2 .2",
      "MARKOV 2  3 2  2  1 0  2 0 1  3 2 .3 5  6 1 2 7  3 3 0  1 0 2"};
  fuzz(texts, "0123456789 .-\ne", [](const std::filesystem::path& file) {
    const auto net = read_bayesnet(file);
    if (net->space().sites > 10) return;
    const torch::Tensor x = torch::zeros({2, net->space().sites}, torch::kUInt8);
    EXPECT_TRUE(net->energy(x).isfinite().all().item<bool>());
  });
}

}  // namespace
}  // namespace isinglass::text_fuzz_test
