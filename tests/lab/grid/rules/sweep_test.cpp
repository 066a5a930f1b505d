// A side whose best setting is at an end of its sweep cannot lose: it might be better beyond it.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "lab/grid/rules/side.h"
#include "tests/lab/grid/claims_fixture.h"

namespace isinglass::sweep_test {
namespace {

using Values = std::map<std::string, std::string>;

struct Swept {
  std::string sampler;
  Values settings;
  double value;
};

Json rows_of(const std::vector<Swept>& all) {
  Json once = Json::array();
  for (const Swept& one : all) {
    once.push_back(row("m", one.sampler, 1, one.value, 0.01));
    once.back()["settings"] = one.settings;
  }
  return often(once, 6);
}

// `than` improves with its radius, and its sweep ends before it has caught up.
TEST(SweepEnds, ALoserAtTheEndOfItsSweepLeavesAClaimUndecided) {
  const Json rising = rows_of({{"a", {}, 9},
                               {"b", {{"radius", "1"}}, 1},
                               {"b", {{"radius", "5"}}, 2},
                               {"b", {{"radius", "20"}}, 3}});
  EXPECT_EQ(verdict("beats", rising), "undecided");
  EXPECT_EQ(reason("beats", rising), "the best of b is at the end of its sweep (radius = 20)");
  EXPECT_EQ(verdict("matches", rising), "undecided");  // b might be better than a
  // As `who` it loses by the same number, and by no other.
  const auto of_b = [&](const std::string& rule) {
    return judged(rule, rising, {"b"}, {"a"})["models"][0].value("reason", "");
  };
  EXPECT_EQ(of_b("beats"), "the best of b is at the end of its sweep (radius = 20)");
  EXPECT_EQ(of_b("matches"), "the best of b is at the end of its sweep (radius = 20)");
}

// The winner may be at an end: beyond it, it would win by more.
TEST(SweepEnds, AWinnerMayBeAtTheEndOfItsSweep) {
  const Json rows = rows_of({{"a", {}, 1}, {"b", {{"tau", "1"}}, 2}, {"b", {{"tau", "3"}}, 3}});
  EXPECT_EQ(verdict("beats", rows, {"b"}, {"a"}), "supported");
  EXPECT_EQ(verdict("matches", rows, {"b"}, {"a"}), "supported");
  EXPECT_EQ(verdict("beats", rows, {"a"}, {"b"}), "not supported");
  EXPECT_EQ(verdict("matches", rows, {"a"}, {"b"}), "not supported");
}

TEST(SweepEnds, TheBestInTheMiddleOrAtABoundOfTheOptionMayLose) {
  const auto loses = [](const std::vector<std::pair<std::string, double>>& sweep,
                        const std::string& option) {
    std::vector<Swept> all = {{"a", {}, 9}};
    for (const auto& [value, number] : sweep) all.push_back({"b", {{option, value}}, number});
    return verdict("beats", rows_of(all)) == "supported";
  };
  EXPECT_TRUE(loses({{"1", 1}, {"5", 3}, {"20", 2}}, "radius"));
  EXPECT_TRUE(loses({{"1", 3}, {"5", 2}, {"20", 1}}, "radius"));  // there is none below 1
  EXPECT_FALSE(loses({{"2", 3}, {"5", 2}, {"20", 1}}, "radius"));
  EXPECT_TRUE(loses({{"0.5", 2}, {"1", 3}}, "alpha"));  // from 0 to 1
  EXPECT_TRUE(loses({{"0", 3}, {"1", 2}}, "alpha"));
  EXPECT_FALSE(loses({{"0.5", 3}, {"1", 2}}, "alpha"));
  EXPECT_FALSE(loses({{"0.1", 3}, {"1", 2}}, "tau"));  // any number above 0
  EXPECT_FALSE(loses({{"1e-3", 1}, {"2e-3", 2}}, "step-size"));
  EXPECT_TRUE(loses({{"0.3", 3}}, "tau"));                           // no sweep
  EXPECT_TRUE(loses({{"sqrt", 3}, {"barker", 2}}, "balancing"));     // no numbers, no ends
  EXPECT_TRUE(loses({{"10", 1}, {"5", 2}, {"1", 3}}, "leapfrog"));   // in any order
  EXPECT_FALSE(loses({{"9", 2}, {"10", 3}, {"1", 1}}, "leapfrog"));  // as numbers, not as texts
  // Training, too: a rate is above 0, and a number of steps is 1 at least.
  EXPECT_FALSE(loses({{"1e-4", 3}, {"1e-3", 2}}, "lr"));
  EXPECT_TRUE(loses({{"1", 3}, {"10", 2}}, "steps-per-iter"));
}

TEST(SweepEnds, EveryOptionThatIsSweptCounts) {
  std::vector<Swept> all = {{"a", {}, 9}};
  for (const char* tau : {"0.1", "1", "3"}) {
    for (const char* radius : {"2", "5", "8"}) {
      const bool best = std::string(tau) == "1" && std::string(radius) == "8";
      all.push_back({"b", {{"tau", tau}, {"radius", radius}}, best ? 2.0 : 1.0});
    }
  }
  EXPECT_EQ(reason("beats", rows_of(all)), "the best of b is at the end of its sweep (radius = 8)");
  all.back().value = 3;
  EXPECT_EQ(reason("beats", rows_of(all)),
            "the best of b is at the end of its sweep (radius = 8, tau = 3)");
}

// A value that the claim names defines the setting: nothing was tuned.
TEST(SweepEnds, WhatAClaimNamesIsNoSweep) {
  const Json rows = rows_of({{"a", {}, 9},
                             {"b", {{"sigma", "1"}, {"tau", "1"}}, 1},
                             {"b", {{"sigma", "2"}, {"tau", "1"}}, 2},
                             {"b", {{"sigma", "1"}, {"tau", "2"}}, 3},
                             {"b", {{"sigma", "2"}, {"tau", "2"}}, 4}});
  const auto than = [&](const std::vector<std::string>& selectors) {
    return judged("beats", rows, {"a"}, selectors)["models"][0].value("reason", "");
  };
  EXPECT_EQ(than({"b sigma=2 tau=2"}), "");
  EXPECT_EQ(than({"b sigma=1 tau=2", "b sigma=2 tau=2"}), "");
  EXPECT_EQ(than({"b tau=2"}), "the best of b is at the end of its sweep (sigma = 2)");
  EXPECT_EQ(than({"b"}), "the best of b is at the end of its sweep (sigma = 2, tau = 2)");
  EXPECT_EQ(than({"b", "b sigma=2 tau=2"}), "");
}

// The share of the best value: if the best may be better beyond the sweep, the share is smaller,
// which can only favour the other side. The claim is about the largest value of the axis.
TEST(SweepEnds, ASharesBestMayNotBeAtTheOtherEnd) {
  const auto rows = [](const std::string& least) {
    return rows_of({{"a", {{"radius", least}}, 4},
                    {"a", {{"radius", "10"}}, 3.5},
                    {"a", {{"radius", "20"}}, 3},
                    {"b", {{"radius", least}}, 1},
                    {"b", {{"radius", "10"}}, 9},
                    {"b", {{"radius", "20"}}, 3}});
  };
  EXPECT_EQ(verdict("degrades-less", rows("1")), "supported");  // keeps 3/4, the other 1/3
  EXPECT_EQ(reason("degrades-less", rows("2")),
            "the best of a is at the end of its sweep (radius = 2)");
  EXPECT_EQ(verdict("degrades-less", rows("2"), {"b"}, {"a"}), "undecided");
  EXPECT_EQ(verdict("degrades-less", rows("1"), {"b"}, {"a"}), "not supported");
}

}  // namespace
}  // namespace isinglass::sweep_test
