// Reads quadratic functions of binary or spin variables, in the text formats in which QUBO and
// Ising problems are published. Every line has the form `i j value`, and i = j gives a linear term.
//
//   binary  E(x) = offset + Σ_i q_ii x_i + Σ_{i<j} q_ij x_i x_j,  x ∈ {0, 1}^n
//   spin    E(s) = offset + Σ_i h_i s_i + Σ_{i<j} J_ij s_i s_j,   s ∈ {−1, +1}^n
//
//   list          lines i j value; variables start at 0 if any is 0, otherwise at 1
//   BiqMac        a first line n m, the numbers of variables and of entries, then a list (.sparse,
//                 .bq, OR-Library, MQLib)
//   qbsolv        p qubo 0 n diagonals couplers (.qubo); variables start at 0
//   MatrixMarket  a square sparse matrix; variables start at 1
//
// The function is the sum over all lines, so that lines i j and j i add up, and so do repeated
// lines. There is one exception: in a binary BiqMac file, and in a binary symmetric MatrixMarket
// file, the lines are one triangle of a symmetric matrix Q with E(x) = xᵀQx, so that each
// off-diagonal entry counts twice. A BiqMac file that lists some pair as i j and as j i holds the
// whole matrix instead, and all of its lines count once.
//
// A comment `offset V` gives the offset. A comment `vartype=BINARY` or `vartype=SPIN` names the
// kind of the variables. Lines and comments are those of models/lattice/text_lines.h.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "io/torch.h"

namespace isinglass {

enum class Variables { kBinary, kSpin };

// Describes how a text was interpreted.
struct QuadraticReading {
  std::string format;         // "list", "BiqMac", "qbsolv" or "MatrixMarket"
  std::string variable_kind;  // "binary" or "spin"
  std::string sum;            // how off-diagonal lines count, and with which sign
  int64_t first_variable;     // the number that the file gives the first variable: 0 or 1
  int64_t variables, linear_terms, pairs;
  int64_t isolated_variables;  // variables without terms
  int64_t both_directions;     // pairs that are listed as i j and as j i, whose lines are added
  int64_t repeated_lines;      // lines that repeat an earlier one i j, to which they are added
  double offset;
};

struct Quadratic {
  Variables kind = Variables::kBinary;
  torch::Tensor linear;  // float64 [D]
  torch::Tensor edges;   // int64 [E, 2], u < v, sorted, each once
  torch::Tensor weight;  // float64 [E]
  double offset = 0;
  std::optional<double> optimum = {};            // the least energy, from a comment `optimum V`
  std::optional<QuadraticReading> reading = {};  // empty unless it was read from a text
};

// Reads a function of variables of one kind. A spin file without `vartype` follows the convention
// of the model `ising`: its couplings J and fields h are subtracted, E = −Σ h s − Σ J s s. With
// `vartype=SPIN` they are added, as dimod does. Throws Error naming the file and the offending
// line.
Quadratic read_quadratic(const std::filesystem::path& file, Variables kind);

// Returns the kind of a text's variables if the text is a quadratic function and not a graph: it
// has `vartype`, a header `p qubo`, a line i i value, or the extension .qubo, .bq, .sparse or .coo.
std::optional<Variables> quadratic_kind(const std::filesystem::path& file);

// Returns the function of terms that may be repeated: edges int64 [E, 2] between different
// variables of 0 … D − 1, in either direction, and weight [E]. Weights of the same pair are added.
Quadratic quadratic_of(Variables kind, const torch::Tensor& linear, const torch::Tensor& edges,
                       const torch::Tensor& weight, double offset);

}  // namespace isinglass
