// Files in .uai format that are damaged are refused, in one line that names what is wrong.
#include "models/density/bayesnet.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/error.h"
#include "io/files.h"
#include "tests/models/samples.h"
#include "tests/support/scratch.h"

namespace isinglass::bayesnet_test {
namespace {

std::string network() {
  for (const ModelSample& sample : model_samples()) {
    if (sample.label != "bayesnet") continue;
    const Scratch scratch;
    ModelOptions options;
    sample.write(scratch.folder(), options);
    return read_file(options.weights);
  }
  throw std::out_of_range("bayesnet");
}

void expect_refused(const std::string& text, const std::string& words) {
  SCOPED_TRACE(words);
  const Scratch scratch;
  write_file(scratch / "net.uai", text);
  EXPECT_ERROR(read_bayesnet(scratch / "net.uai"), words);
  EXPECT_ERROR(read_bayesnet(scratch / "net.uai"), "net.uai");
}

TEST(BayesNetFile, DamageIsNamed) {
  const std::string whole = network();
  const auto with = [&whole](const std::string& what, const std::string& by) {
    std::string text = whole;
    const size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), by);
  };
  expect_refused("", "the file ends before its first word");
  expect_refused(with("BAYES", "NOISY"), "the file begins with 'NOISY'");
  expect_refused(with("BAYES\n4", "BAYES\nfour"),
                 "the number of variables is 'four', which is not a number");
  expect_refused(with("BAYES\n4", "BAYES\n0"), "the number of variables is 0; 1 to 65536");
  expect_refused(with("2 2 2 2", "2 2 3 2"), "line 13: the table size of factor 2 is not 12");
  expect_refused(with("2 2 2 2", "2 2 0 2"), "line 3: a number of values is 0; 1 to 256 are");
  expect_refused(with("2 2 2 2\n4", "2 2 2 2\n3"), "the number of factors is 3");
  expect_refused(with("2 2 3", "2 2 4"), "a factor's variable is 4; 0 to 3");
  expect_refused(with("2 2 3", "2 3 3"), "factor 3 names variable 3 twice");
  expect_refused(with("1 1\n", "1 0\n"), "1 variables are not the child of any factor");
  expect_refused(with("8\n", "6\n"), "the table size of factor 2 is not 8");
  expect_refused(with("0.3 0.7", "0.3 0.8"), "a row of factor 0 does not sum to 1");
  expect_refused(with("0.3 0.7", "0.3 1.7"), "an entry of factor 0 is 1.7; a probability");
  expect_refused(with("0.3 0.7", "0.3 nan"), "a probability from 0 to 1 is needed");
  expect_refused(whole + "0.5",
                 "line 19: a number of the evidence is '0.5', which is not a number");
  expect_refused(whole + "2 0 1", "the evidence must be a number of observed variables");
  expect_refused(whole + "1 4 1", "line 19: the evidence names variable 4; 0 to 3 are allowed");
  expect_refused(whole + "1 3 2", "the evidence gives variable 3 the value 2; 0 to 1 are allowed");
  expect_refused(whole + "2 3 1 3 0", "the evidence names variable 3 twice");
  expect_refused(whole.substr(0, whole.size() - 6), "the file ends before an entry of factor 3");
}

std::string pairs_of(int64_t variables, const std::vector<std::pair<int, int>>& parent_child) {
  std::string text = fmt::format("BAYES {}\n", variables);
  for (int64_t i = 0; i < variables; ++i) text += "2 ";
  text += fmt::format("\n{}\n", parent_child.size());
  for (const auto& [parent, child] : parent_child) {
    text += parent < 0 ? fmt::format("1 {}\n", child) : fmt::format("2 {} {}\n", parent, child);
  }
  for (const auto& [parent, child] : parent_child) {
    text += parent < 0 ? "2 .4 .6\n" : "4 .9 .1 .2 .8\n";
  }
  return text;
}

TEST(BayesNetFile, ACycleIsRefused) {
  expect_refused(pairs_of(2, {{1, 0}, {0, 1}}), "a cycle through variable");
  expect_refused(pairs_of(4, {{-1, 0}, {2, 1}, {3, 2}, {1, 3}}), "a cycle through variable");
  // 3 and 4 come after the cycle of 1 and 2, and are not on it.
  for (const auto& order :
       {std::vector<std::pair<int, int>>{{4, 3}, {1, 4}, {2, 1}, {1, 2}, {-1, 0}},
        {{-1, 0}, {2, 1}, {1, 2}, {4, 3}, {2, 4}}}) {
    const std::string text = pairs_of(5, order);
    const Scratch scratch;
    write_file(scratch / "net.uai", text);
    try {
      read_bayesnet(scratch / "net.uai");
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.find("cycle through variable 1;") != message.npos ||
                  message.find("cycle through variable 2;") != message.npos)
          << message;
    }
  }
  const Scratch scratch;
  write_file(scratch / "net.uai", pairs_of(4, {{3, 0}, {-1, 3}, {0, 1}, {0, 2}}));
  EXPECT_NO_THROW(read_bayesnet(scratch / "net.uai"));
}

TEST(BayesNetFile, TheVariableThatIsNamedTwiceIsSaid) {
  expect_refused("BAYES 3  2 2 2  3  1 0  3 1 1 2  1 1", "factor 1 names variable 1 twice");
  expect_refused("BAYES 3  2 2 2  3  1 0  3 2 1 2  1 1", "factor 1 names variable 2 twice");
}

// K values: a table of K² entries, the child fastest.
TEST(BayesNetFile, VariablesMayHaveManyValues) {
  const Scratch scratch;
  write_file(scratch / "net.uai",
             "BAYES 2  3 3  2  1 0  2 0 1  3 .2 .3 .5  9 .1 .2 .7  .3 .3 .4  .6 .2 .2");
  const auto net = read_bayesnet(scratch / "net.uai");
  EXPECT_EQ(net->space().kind, StateKind::kCategorical);
  const torch::Tensor x = torch::tensor({0, 2, 2, 0}, torch::kUInt8).view({2, 2});
  const torch::Tensor u = net->energy(x);
  EXPECT_NEAR(u[0].item<double>(), -std::log(0.2 * 0.7), 1e-12);
  EXPECT_NEAR(u[1].item<double>(), -std::log(0.5 * 0.6), 1e-12);
}

// Variables with 3, 1 and 2 values: sites have three values, and those that a variable does not
// have cost −log 1e-60. Each state is compared with the product of the tables.
TEST(BayesNetFile, VariablesMayHaveDifferentNumbersOfValues) {
  const double a[3] = {.2, .3, .5}, c[3][2] = {{.1, .9}, {.4, .6}, {.75, .25}};
  const Scratch scratch;
  write_file(scratch / "net.uai",
             "BAYES # mixed\n3\n3 1 2\n3\n1 0\n1 1\n3 0 1 2\n3 +.2 .3 .5\n1 1\n"
             "6 .1 .9 .4 .6 .75 .25\n");
  for (const bool observed : {false, true}) {
    if (observed) write_file(scratch / "net.uai.evid", "1\n1 2 1\n");
    const auto net = read_bayesnet(scratch / "net.uai");
    EXPECT_EQ(net->space().categories, 3);
    EXPECT_EQ(net->reading()->observed, observed ? 1 : 0);
    torch::Tensor x = torch::empty({27, 3}, torch::kUInt8);
    for (int64_t s = 0; s < 27; ++s) {
      for (int64_t i = 0, rest = s; i < 3; ++i, rest /= 3) x[s][i] = rest % 3;
    }
    const torch::Tensor u = net->energy(x);
    double mass = 0;
    for (int64_t s = 0; s < 27; ++s) {
      const int i = static_cast<int>(s % 3), j = static_cast<int>(s / 3 % 3);
      const int k = static_cast<int>(s / 9);
      double expected = -std::log(a[i] * c[i][std::min(k, 1)]);
      if (j > 0) expected += 60 * std::log(10);
      if (observed ? k != 1 : k > 1) expected += 60 * std::log(10);
      EXPECT_NEAR(u[s].item<double>(), expected, 1e-9) << s;
      mass += std::exp(-u[s].item<double>());
    }
    EXPECT_NEAR(mass, observed ? .2 * .9 + .3 * .6 + .5 * .25 : 1, 1e-12);
    // Differences and conditionals are those of the energies.
    Evaluation out;
    out.energy = torch::empty({27}, torch::kFloat64);
    net->evaluate_differences(x, out);
    for (int64_t site = 0; site < 3; ++site) {
      torch::Tensor conditional = torch::empty({27, 3}, torch::kFloat64);
      net->conditional_differences(x, torch::full({27}, site, torch::kInt64), conditional);
      for (int64_t k = 0; k < 3; ++k) {
        torch::Tensor y = x.clone();
        y.select(1, site).fill_(k);
        const torch::Tensor change = net->energy(y) - u;
        EXPECT_LT((conditional.select(1, k) - change).abs().max().item<double>(), 1e-9);
        const torch::Tensor difference = out.differences.select(1, site).select(1, k);
        EXPECT_LT((difference + change).abs().max().item<double>(), 1e-4);
      }
    }
  }
}

// A Markov network's tables are no probabilities, and a factor may have no variable at all.
TEST(BayesNetFile, MarkovNetworksAreProductsOfTables) {
  const double f[2][3] = {{0.5, 0, 7}, {20, 1e-3, 2}};
  const Scratch scratch;
  write_file(scratch / "net.uai",
             "MARKOV\n2\n3 2\n3\n2 1 0\n1 0\n0\n6 .5 0 7 20 .001 2\n3 1 2 1e0\n1 3\n1 0 2\n");
  const auto net = read_bayesnet(scratch / "net.uai");
  EXPECT_EQ(net->reading()->kind, "MARKOV");
  EXPECT_EQ(net->reading()->zeros, 1);
  EXPECT_EQ(net->reading()->evidence_from, "the end of the file");
  const double g[3] = {1, 2, 1};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 2; ++j) {
      const torch::Tensor x = torch::tensor({i, j}, torch::kUInt8).view({1, 2});
      const double table = f[j][i] == 0 ? 20e-30 : f[j][i];
      const double expected = -std::log(3 * table * g[i]) + (i == 2 ? 0 : 60 * std::log(10));
      EXPECT_NEAR(net->energy(x).item<double>(), expected, 1e-9) << i << " " << j;
    }
  }
  write_file(scratch / "tiny.uai", "MARKOV 1 2 1 1 0 2 1e-300 0");
  const auto tiny = read_bayesnet(scratch / "tiny.uai");
  const torch::Tensor both = tiny->energy(torch::tensor({0, 1}, torch::kUInt8).view({2, 1}));
  EXPECT_NEAR(both[0].item<double>(), 300 * std::log(10), 1e-9);
  EXPECT_GT(both[1].item<double>(), both[0].item<double>() + 50);
  EXPECT_TRUE(torch::isfinite(both).all().item<bool>());
  expect_refused("MARKOV 1 2 1 1 0 2 0 0", "all entries of factor 0 are 0");
  expect_refused("MARKOV 1 2 1 1 0 2 1 -1", "is -1; a finite number from 0 is needed");
  expect_refused("MARKOV 1 2 1 1 0 2 1 inf", "is inf; a finite number from 0 is needed");
}

// Tables stay as small as the network is where one variable is in most of the factors.
TEST(BayesNetHub, CostsWhatItsFactorsDo) {
  constexpr int64_t kLeaves = 3000;
  std::vector<BayesNetFactor> factors = {
      {torch::tensor({0}, torch::kInt64), torch::tensor({.5, .2, .3}, torch::kFloat64)}};
  torch::manual_seed(1);
  for (int64_t leaf = 1; leaf <= kLeaves; ++leaf) {
    factors.push_back(
        {torch::tensor({int64_t{0}, leaf}, torch::kInt64), torch::rand({9}, torch::kFloat64)});
  }
  BayesNetModel net(std::vector<int64_t>(kLeaves + 1, 3), factors);
  int64_t numbers = 0;
  for (const torch::Tensor& buffer : net.buffers()) numbers += buffer.numel();
  EXPECT_LT(numbers, 32 * kLeaves);

  const torch::Tensor x = torch::randint(3, {4, kLeaves + 1}, torch::kUInt8);
  Evaluation out;
  net.evaluate_differences(x, out);
  EXPECT_LT((out.energy - net.energy(x)).abs().max().item<double>(), 1e-9);
  const torch::Tensor sites = torch::tensor({int64_t{0}, int64_t{1}, kLeaves, int64_t{7}});
  torch::Tensor conditional;
  net.conditional_differences(x, sites, conditional);
  for (int64_t k = 0; k < 3; ++k) {
    for (int64_t chain = 0; chain < 4; ++chain) {
      const int64_t site = sites[chain].item<int64_t>();
      torch::Tensor moved = x.slice(0, chain, chain + 1).clone();
      const double before = net.energy(moved).item<double>();
      moved[0][site] = k;
      const double less = before - net.energy(moved).item<double>();
      EXPECT_NEAR(conditional[chain][k].item<double>(), -less, 1e-6 * (1 + std::abs(less)));
      EXPECT_NEAR(out.differences[chain][site][k].item<double>(), less,
                  1e-6 * (1 + std::abs(less)));
    }
  }
}

// The factors of a network may contain none of its variables.
TEST(BayesNetHub, VariablesMayBeInNoFactor) {
  BayesNetModel net({2, 2},
                    {{torch::empty({0}, torch::kInt64), torch::tensor({2.0}, torch::kFloat64)}});
  const torch::Tensor x = torch::tensor({0, 1, 1, 1}, torch::kUInt8).view({2, 2});
  Evaluation out;
  net.evaluate_differences(x, out);
  EXPECT_TRUE(torch::equal(out.differences, torch::zeros({2, 2})));
  torch::Tensor conditional;
  net.conditional_differences(x, torch::tensor({0, 1}, torch::kInt64), conditional);
  EXPECT_TRUE(torch::equal(conditional, torch::zeros_like(conditional)));
  EXPECT_NEAR(net.energy(x)[0].item<double>(), -std::log(2.0), 1e-12);
}

}  // namespace
}  // namespace isinglass::bayesnet_test