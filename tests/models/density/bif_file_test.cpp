// Networks in BIF are those of the same networks in .uai format, and damaged files are refused in
// one line that names what is wrong.
#include "models/density/bif_file.h"

#include <gtest/gtest.h>

#include "io/error.h"
#include "io/files.h"
#include "tests/support/scratch.h"

namespace isinglass::bif_file_test {
namespace {

// Rain causes a wet lawn, and rain and the sprinkler (with three values) make the road slippery.
// The child's values vary slowest in a table.
const std::string kBif = R"(// made by hand
network "lawn" { property version = "{1}"; }
variable rain { type discrete [ 2 ] { yes, no }; property position = (1, 2); }
variable "the sprinkler" { type discrete[3] { off 1/2 "full on" }; }
variable lawn { /* two
lines */ type discrete [ 2 ] { wet, dry }; }
variable road { type discrete [ 2 ] { slippery, safe }; }
probability ( rain ) { table 0.2, 0.8; }
probability ( "the sprinkler" ) { table 0.5 0.3 0.2; }
probability ( lawn | rain ) { table 0.9, 0.1, 0.1, 0.9; }
probability ( road | rain, "the sprinkler" ) {
  default 0.25, 0.75;
  (yes, "full on") 0.99, 0.01;
  (no, off) 0, 1.0e0;
}
)";

const std::string kUai =
    "BAYES 4  2 3 2 2  4  1 0  1 1  2 0 2  3 0 1 3\n"
    "2 .2 .8  3 .5 .3 .2  4 .9 .1 .1 .9\n"
    "12  .25 .75 .25 .75 .99 .01  0 1 .25 .75 .25 .75\n";

torch::Tensor all_states() {
  torch::Tensor x = torch::empty({81, 4}, torch::kUInt8);
  for (int64_t s = 0; s < 81; ++s) {
    for (int64_t i = 0, rest = s; i < 4; ++i, rest /= 3) x[s][i] = rest % 3;
  }
  return x;
}

TEST(BifFile, IsTheNetworkInTheOtherFormat) {
  const Scratch scratch;
  write_file(scratch / "net.bif", kBif);
  write_file(scratch / "net.uai", kUai);
  EXPECT_TRUE(is_network_text(scratch / "net.bif"));
  EXPECT_FALSE(is_bif_text(scratch / "net.uai"));
  for (const bool observed : {false, true}) {
    if (observed) {
      for (const char* name : {"net.bif.evid", "net.uai.evid"}) {
        write_file(scratch / name, "1 2 0");
      }
    }
    const auto bif = read_bayesnet(scratch / "net.bif"), uai = read_bayesnet(scratch / "net.uai");
    EXPECT_EQ(bif->space(), uai->space());
    EXPECT_TRUE(torch::equal(bif->energy(all_states()), uai->energy(all_states())));
    const double mass = torch::exp(-bif->energy(all_states())).sum().item<double>();
    EXPECT_NEAR(mass, observed ? 0.2 * 0.9 + 0.8 * 0.1 : 1, 1e-12);
    EXPECT_EQ(bif->reading()->kind, "BIF");
    EXPECT_EQ(bif->reading()->zeros, 1);
    EXPECT_EQ(bif->reading()->observed, observed ? 1 : 0);
    EXPECT_EQ(bif->reading()->entries, uai->reading()->entries);
    const std::vector<std::string> names = {"rain (yes, no)", "the sprinkler (off, 1/2, full on)",
                                            "lawn (wet, dry)", "road (slippery, safe)"};
    EXPECT_EQ(bif->reading()->names, names);
  }
}

// A bar may be missing, and rows may be in any order and take the place of a default after them.
TEST(BifFile, OtherSpellings) {
  const Scratch scratch;
  std::string text = kBif;
  const auto replace = [&text](const std::string& what, const std::string& by) {
    const size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    text.replace(at, what.size(), by);
  };
  replace("lawn | rain", "lawn rain");
  replace("{ table 0.9, 0.1, 0.1, 0.9; }", "{ (no) 0.1 0.9; (yes) 0.9, +0.1; }");
  replace("  default 0.25, 0.75;\n", "");
  replace("(no, off) 0, 1.0e0;", "(no, off) 0, 1; default 0.25, 0.75;");
  write_file(scratch / "net.bif", "\xef\xbb\xbf" + text);
  write_file(scratch / "net.uai", kUai);
  EXPECT_TRUE(torch::equal(read_bayesnet(scratch / "net.bif")->energy(all_states()),
                           read_bayesnet(scratch / "net.uai")->energy(all_states())));
}

TEST(BifFile, DamageIsNamed) {
  const Scratch scratch;
  const auto refused = [&](const std::string& what, const std::string& by,
                           const std::string& words) {
    SCOPED_TRACE(words);
    std::string text = kBif;
    const size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    write_file(scratch / "net.bif", text.replace(at, what.size(), by));
    EXPECT_ERROR(read_bayesnet(scratch / "net.bif"), words);
    EXPECT_ERROR(read_bayesnet(scratch / "net.bif"), "net.bif");
  };
  refused("variable lawn", "varable lawn",
          "line 5: 'variable' or 'probability' is needed where the file has 'varable'");
  refused("variable lawn", "variable rain", "line 5: variable 'rain' is declared twice");
  refused("type discrete [ 2 ] { wet, dry }", "type discrete [ 3 ] { wet, dry }",
          "line 6: variable 'lawn' has 2 values, but its type says 3");
  refused("{ wet, dry }", "{ wet, wet }", "line 6: variable 'lawn' has the value 'wet' twice");
  refused("{ wet, dry }", "[ wet, dry ]", "line 6: '{' is needed where the file has '['");
  refused("type discrete [ 2 ] { wet, dry };", "", "line 5: variable 'lawn' has no type");
  refused("type discrete [ 2 ] { wet", "type continuous [ 2 ] { wet",
          "line 6: variable 'lawn' is continuous; only discrete variables are supported");
  refused("/* two", "/ * two", "line 5: 'type' or 'property' is needed where the file has '/'");
  refused("lines */", "lines", "line 5: the comment is not closed");
  refused("full on\" };", "full on };", "line 11");
  refused("probability ( rain ) { table 0.2, 0.8; }", "",
          "variable 'rain' has no probability block");
  refused("( lawn | rain )", "( rain | lawn )", "line 10: 'rain' has a second probability block");
  refused("( lawn | rain )", "( lawn | snow )", "line 10: no variable 'snow' is declared before");
  refused("( lawn | rain )", "( lawn | lawn )", "the probability of 'lawn' names 'lawn' twice");
  refused("( lawn | rain )", "( )", "line 10: a probability block names no variable");
  refused("table 0.2, 0.8", "table 0.2", "line 8: 'rain' has 1 probabilities here; 2 are needed");
  refused("table 0.2, 0.8", "table 0.2, 0.9",
          "line 8: probabilities of 'rain' sum to 1.1; they must sum to 1");
  refused("table 0.2, 0.8", "table 0.2, x",
          "line 8: a probability of 'rain' is 'x'; a number from 0 to 1 is needed");
  refused("table 0.2, 0.8", "table 1.2, -0.2", "a probability of 'rain' is '1.2'");
  // The child varies slowest.
  refused("0.9, 0.1, 0.1, 0.9", "0.9, 0.1, 0.2, 0.8",
          "line 10: probabilities of 'lawn' sum to 1.1");
  refused("  default 0.25, 0.75;\n", "",
          "line 11: the probabilities of 'road' lack the row (yes, off), and there is no default");
  refused("(yes, \"full on\")", "(yes, full)",
          "line 13: 'full' is no value of 'the sprinkler'; off, 1/2, full on are");
  refused("(no, off)", "(no)", "line 14: the row of 'road' has 1 values for 2 parents");
  refused("(no, off)", "(no, off, off)",
          "line 14: the row of 'road' has more values than the 2 parents");
  refused("(no, off)", "(yes, \"full on\")", "line 14: the row of 'road' is given twice");
  refused("1.0e0;\n}\n", "1.0e0;", "the file ends before '}'");
  refused("probability ( rain ) { table 0.2, 0.8; }",
          "probability ( rain | lawn ) { table 0.2, 0.2, 0.8, 0.8; }",
          "the network has a cycle through variable");
  refused("// made by hand\nnetwork", "net work", "the file begins with 'net'");
}

}  // namespace
}  // namespace isinglass::bif_file_test
