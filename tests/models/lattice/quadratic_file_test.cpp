// Quadratic functions from texts: every format against an enumeration of its own formula, and the
// lines that are refused.
#include "models/lattice/quadratic_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "io/files.h"
#include "models/lattice/quadratic.h"
#include "models/registry.h"
#include "tests/support/scratch.h"

namespace isinglass::quadratic_file_test {
namespace {

using Function = std::function<double(const std::vector<double>&)>;

class QuadraticFile : public testing::Test {
 protected:
  std::shared_ptr<EnergyModel> load(const std::string& model, const std::string& text,
                                    const std::string& name = "q.txt") {
    write_file(scratch_ / name, text);
    return load_model(model, {.weights = scratch_ / name});
  }

  // Compares the energies of all states, of the model and of its lattice, with the function of the
  // variables' values.
  void expect(const std::string& model, const std::string& text, int64_t variables,
              const Function& function) {
    SCOPED_TRACE(text);
    const auto loaded = load(model, text);
    ASSERT_EQ(loaded->space().sites, variables);
    const int64_t count = int64_t{1} << variables;
    torch::Tensor x = torch::empty({count, variables}, torch::kUInt8);
    std::vector<double> expected;
    for (int64_t s = 0; s < count; ++s) {
      std::vector<double> values;
      for (int64_t i = 0; i < variables; ++i) {
        const int64_t bit = s >> i & 1;
        x[s][i] = bit;
        values.push_back(static_cast<double>(model == "ising" ? 2 * bit - 1 : bit));
      }
      expected.push_back(function(values));
    }
    const torch::Tensor truth = torch::tensor(expected, torch::kFloat64);
    EXPECT_TRUE(torch::equal(loaded->energy(x), truth)) << loaded->energy(x) - truth;
    Evaluation out;
    out.energy = torch::empty({count}, torch::kFloat64);
    loaded->evaluate_energy(x, out);
    EXPECT_TRUE(torch::equal(out.energy, truth)) << out.energy - truth;
  }

  Quadratic read(const std::string& text, Variables kind = Variables::kBinary) {
    write_file(scratch_ / "q.txt", text);
    return read_quadratic(scratch_ / "q.txt", kind);
  }

  Scratch scratch_;
};

// All numbers are multiples of 1/4, so that sums are exact in any order.
TEST_F(QuadraticFile, BinaryFormatsAreTheirFormulas) {
  const Function once = [](const std::vector<double>& x) {
    return 1.5 * x[0] - 2 * x[1] + 3 * x[0] * x[1] - 0.25 * x[1] * x[2];
  };
  expect("qubo", "0 0 1.5\n1 1 -2\n0 1 3\n1 2 -0.25\n", 3, once);
  expect("qubo", "# vartype=BINARY\n0 0 1.5\n1 1 -2\n1 0 3\n2 1 -0.25\n", 3, once);
  expect("qubo", "1 1 1.5\n2 2 -2\n1 2 3\n2 3 -0.25\n", 3, once);
  expect("qubo",
         "\xef\xbb\xbf"
         "0,0,1.5\n1,1,-2\n0,1,+3\n1,2,-0.25 \r\n",
         3, once);
  expect("qubo", "0 1 1\n1 0 2\n0 0 1\n0 0 .5\n1 1 -2\n1 2 -0.25\n", 3, once);  // lines add up
  expect("qubo", "c of qbsolv\np qubo 0 3 2 2\n0 0 1.5\n1 1 -2\n0 1 3\n1 2 -0.25\n", 3, once);
  expect("qubo",
         "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1.5\n2 2 -2\n1 2 3\n2 3 -.25\n",
         3, once);
  const Function symmetric = [](const std::vector<double>& x) {
    return 1.5 * x[0] - 2 * x[1] + 6 * x[0] * x[1] - 0.5 * x[1] * x[2];
  };
  // One triangle of a symmetric matrix, and the whole of it.
  expect("qubo", "3 4\n1 1 1.5\n2 2 -2\n1 2 3\n2 3 -0.25\n", 3, symmetric);
  expect("qubo", "3 4\n1 1 1.5\n2 2 -2\n2 1 3\n3 2 -0.25\n", 3, symmetric);
  expect("qubo", "3 6\n1 1 1.5\n2 2 -2\n2 1 3\n1 2 3\n3 2 -0.25\n2 3 -.25\n", 3, symmetric);
  expect("qubo",
         "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n"
         "1 1 1.5\n2 2 -2\n2 1 3\n3 2 -.25\n",
         3, symmetric);
  expect("qubo", "# offset = -7\n0 0 2\n3 3 1\n", 4,
         [](const std::vector<double>& x) { return 2 * x[0] + x[3] - 7; });
  expect("qubo", "p qubo 0 4 1 1\n0 0 2\n1 2 1\n", 4,
         [](const std::vector<double>& x) { return 2 * x[0] + x[1] * x[2]; });
}

// The matrix [5 −6 0; −6 3 −1; 0 −1 1], listed as its upper triangle.
TEST_F(QuadraticFile, ASampleOfTheBiqMacFormat) {
  expect("qubo", "# Input matrix\n3 5\n1 1 5\n2 2 3\n3 3 1\n1 2 -6\n2 3 -1\n", 3,
         [](const std::vector<double>& x) {
           const double q[3][3] = {{5, -6, 0}, {-6, 3, -1}, {0, -1, 1}};
           double sum = 0;
           for (int i = 0; i < 3; ++i) {
             for (int j = 0; j < 3; ++j) sum += q[i][j] * x[i] * x[j];
           }
           return sum;
         });
}

TEST_F(QuadraticFile, SpinFormatsAreTheirFormulas) {
  const auto sum = [](const std::vector<double>& s) {
    return 0.5 * s[0] + s[2] - 3 * s[0] * s[1] + 0.25 * s[1] * s[2];
  };
  expect("ising", "# vartype=SPIN\n0 0 .5\n2 2 1\n0 1 -3\n1 2 .25\n", 3, sum);
  expect("ising", "# vartype: spin\n# offset 4\n0 0 .5\n2 2 1\n0 1 -1\n1 0 -2\n1 2 .25\n", 3,
         [&](const std::vector<double>& s) { return sum(s) + 4; });
  // Without vartype, couplings and fields are those of the model.
  const Function subtracted = [&](const std::vector<double>& s) { return -sum(s); };
  expect("ising", "1 1 .5\n3 3 1\n1 2 -3\n2 3 .25\n", 3, subtracted);
  expect("ising", "3 4\n1 1 .5\n3 3 1\n1 2 -3\n2 3 .25\n", 3, subtracted);
}

TEST_F(QuadraticFile, WeightsStayFloat64) {
  const auto model = load("qubo", "0 1 16777217\n1 1 0.4406867935097715\n0 0 1e-50\n");
  const torch::Tensor x = torch::tensor({1, 1, 0, 1, 1, 0}, torch::kUInt8).view({3, 2});
  const torch::Tensor u = model->energy(x);
  EXPECT_EQ(u[0].item<double>(), 16777217 + 0.4406867935097715);
  EXPECT_EQ(u[1].item<double>(), 0.4406867935097715);
  EXPECT_EQ(u[2].item<double>(), 1e-50);
}

TEST_F(QuadraticFile, SaysHowItWasUnderstood) {
  const auto reading = [&](const std::string& text, Variables kind = Variables::kBinary) {
    const QuadraticReading r = *read(text, kind).reading;
    return fmt::format("{} {}, from {}; {} {} {}; {} {} {}; {}", r.format, r.variable_kind,
                       r.first_variable, r.variables, r.linear_terms, r.pairs, r.isolated_variables,
                       r.both_directions, r.repeated_lines, r.sum);
  };
  EXPECT_EQ(reading("0 1 2\n1 0 1\n3 3 1\n3 3 1\n"),
            "list binary, from 0; 4 1 1; 1 1 1; all lines are added");
  EXPECT_EQ(reading("5 2\n1 2 3\n1 1 1\n"),
            "BiqMac binary, from 1; 5 1 1; 3 0 0; one triangle of a symmetric matrix: off-diagonal "
            "entries count twice");
  EXPECT_EQ(reading("1 2 3\n", Variables::kSpin),
            "list spin, from 1; 2 0 1; 0 0 0; couplings and fields are subtracted");
  EXPECT_EQ(read("# optimum -3 (known)\n0 1 -3\n").optimum, -3);
  const auto kind = [&](const std::string& name, const std::string& text) {
    write_file(scratch_ / name, text);
    return quadratic_kind(scratch_ / name);
  };
  EXPECT_EQ(kind("a.txt", "# vartype=SPIN\n0 1 2\n"), Variables::kSpin);
  EXPECT_EQ(kind("a.txt", "0 1 2\n"), std::nullopt);
  EXPECT_EQ(kind("a.txt", "0 1 2\n1 1 2\n"), Variables::kBinary);
  // A weighted METIS cycle has as many vertices as edges.
  EXPECT_EQ(kind("a.txt", "3 3 1\n2 1 3 1\n1 1 3 1\n1 1 2 1\n"), std::nullopt);
  EXPECT_EQ(kind("a.sparse", "2 1\n1 2 2\n"), Variables::kBinary);
  EXPECT_EQ(kind("a.mtx", "%%MatrixMarket matrix coordinate real general\n5 5 5\n1 2 2\n"),
            std::nullopt);
  EXPECT_EQ(kind("a.txt", "p qubo 0 1 0 0\n"), Variables::kBinary);
}

TEST_F(QuadraticFile, WhatIsNoFunctionIsRefusedByLine) {
  EXPECT_ERROR(read("0 1 2\n0 1\n"), "q.txt: line 2 has 2 words; a term must have the form 'i j");
  EXPECT_ERROR(read("0 1 2\n0 x 1\n"), "line 2: 'x' is not a variable; a whole number is needed");
  EXPECT_ERROR(read("0 1 2\n0 -1 1\n"), "line 2: '-1' is not a variable");
  EXPECT_ERROR(read("0 1 nan\n"), "line 1: 'nan' is not a value; a number is needed");
  EXPECT_ERROR(read("# nothing\n"), "the file has no terms");
  EXPECT_ERROR(read("3 2\n1 2 1\n2 4 1\n"), "line 3: variable 4 is not between 1 and 3");
  EXPECT_ERROR(read("3 5\n1 2 1\n"), "the header gives 5 entries, but the file has 1");
  EXPECT_ERROR(read("p qubo 0 3 1\n0 0 1\n"), "line 1: a qbsolv header must have the form");
  EXPECT_ERROR(read("p qubo 0 3 1 1\n0 0 1\n1 1 1\n"),
               "gives 1 diagonal terms, but the file has 2");
  EXPECT_ERROR(read("p qubo 0 3 1 2\n0 0 1\n1 0 1\n"), "gives 2 couplers, but the file has 1");
  EXPECT_ERROR(read("p qubo 0 2 0 1\n0 2 1\n"), "line 2: variable 2 is not between 0 and 1");
  EXPECT_ERROR(read("# vartype=SPIN\n0 1 1\n"),
               "the variables of the file are spins; use the model "
               "ising");
  EXPECT_ERROR(read("# vartype=BINARY\n0 1 1\n", Variables::kSpin), "use the model qubo");
  EXPECT_ERROR(read("# vartype=TRIT\n0 1 1\n"), "line 1: the vartype is 'TRIT'; SPIN and BINARY");
  EXPECT_ERROR(read("0 1 1e308\n1 0 1e308\n"), "add up to a number that float64 cannot hold");
  EXPECT_ERROR(read("0 99999999999 1\n"), "variable 99999999999 is not between");
  EXPECT_ERROR(read("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 2 1\n2 1 1\n"),
               "the matrix is symmetric, but the file lists an entry on either side");
}

}  // namespace
}  // namespace isinglass::quadratic_file_test
