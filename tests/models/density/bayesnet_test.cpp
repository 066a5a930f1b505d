// Files in .uai format that are damaged are refused, in one line that names what is wrong.
#include "models/density/bayesnet.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/error.h"
#include "io/files.h"
#include "tests/models/samples.h"
#include "tests/support/scratch.h"

namespace isinglass {
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
  expect_refused(with("BAYES", "MARKOV"), "the file begins with 'MARKOV'");
  expect_refused(with("BAYES\n4", "BAYES\nfour"),
                 "the number of variables is 'four', which is not a number");
  expect_refused(with("BAYES\n4", "BAYES\n0"), "the number of variables is 0; 1 to 65536");
  expect_refused(with("2 2 2 2", "2 2 3 2"), "variable 2 has 3 values, but variable 0 has 2");
  expect_refused(with("2 2 2 2\n4", "2 2 2 2\n3"), "the number of factors is 3");
  expect_refused(with("2 2 3", "2 2 4"), "a factor's variable is 4; 0 to 3");
  expect_refused(with("2 2 3", "2 3 3"), "factor 3 names variable 3 twice");
  expect_refused(with("1 1\n", "1 0\n"), "1 variables are not the child of any factor");
  expect_refused(with("8\n", "6\n"), "the table size of factor 2 is not 8");
  expect_refused(with("0.3 0.7", "0.3 0.8"), "a row of factor 0 does not sum to 1");
  expect_refused(with("0.3 0.7", "0.3 1.7"), "an entry of factor 0 is 1.7; a probability");
  expect_refused(with("0.3 0.7", "0.3 nan"), "a probability from 0 to 1 is needed");
  expect_refused(whole + "0.5", "'0.5' follows the last table");
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

}  // namespace
}  // namespace isinglass
