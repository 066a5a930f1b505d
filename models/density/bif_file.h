// Reads Bayesian networks from files in the Interchange Format (BIF; Cozman 1998, "The Interchange
// Format for Bayesian Networks", version 0.15), in which the repository of bnlearn and JavaBayes
// publish networks:
//
//   network NAME { }
//   variable NAME { type discrete [ K ] { VALUE, VALUE, … }; }
//   probability ( NAME ) { table P, P, …; }
//   probability ( NAME | PARENT, … ) { (VALUE, …) P, P, …;  default P, P, …; }
//
// A row gives the probabilities of the variable's values for the values of its parents in their
// order, and `default` those of all rows that are not given. A table of a variable with parents
// lists all probabilities: the first variable varies slowest, and the last parent fastest. Commas
// and bars only separate words, names may be quoted, properties are skipped, and comments are those
// of C++.
#pragma once

#include <filesystem>

#include "models/density/bayesnet.h"

namespace isinglass {

// Returns true if the file begins with the word `network`.
bool is_bif_text(const std::filesystem::path& file);

// Variables are numbered in the order in which the file declares them. Throws Error naming the
// file, the line and the problem.
NetworkText read_bif(const std::filesystem::path& file);

}  // namespace isinglass
