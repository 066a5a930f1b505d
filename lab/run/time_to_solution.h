// Estimates how long a search by independent chains takes to find the best state.
//
// If a chain finds it with probability p, then R chains find it with probability 1 − (1 − p)^R.
// That is 99 % for
//
//   R = ln(0.01) / ln(1 − p), at least 1          time to solution = R · t
//
// with the time t of a chain (Rønnow et al. 2014, Defining and detecting quantum speedup). Chains
// run together: t is the time of the whole run divided by its number of chains, so that the time to
// solution is that of this machine with such batches. p is the fraction of chains that found the
// state, with the interval of Clopper & Pearson (1934).
#pragma once

#include <cstdint>

namespace isinglass {

inline constexpr double kSolutionProbability = 0.99, kSolutionLevel = 0.95;

struct Bounded {
  double value, low, high;  // the interval has the probability kSolutionLevel
};

struct TimeToSolution {
  Bounded found;    // p
  Bounded chains;   // R; infinite where p is 0
  Bounded seconds;  // R · t
};

// chains: at least 1, of which `found` found the state. seconds: the time of all chains together.
TimeToSolution time_to_solution(int64_t chains, int64_t found, double seconds);

}  // namespace isinglass
