// Computes the transition rows of jump.h for one site at a time: log P_k of every rule, and the
// draw.
//
// All computations are in the log domain, and no quantity that may be small is a difference of two
// large numbers, so that |d| of several hundred keeps its digits in both directions. The
// probability of staying is 1 − Σ_{k≠c} P_k by log1p if that sum is small, and a sum of positive
// terms if it is large. Binary sites have rows of their own (binary_rows.h).
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/base/balancing.h"
#include "kernels/base/categorical.h"
#include "kernels/base/differences.h"
#include "kernels/jump/jump.h"
#include "kernels/random/philox.h"

namespace isinglass {

// Gives differences at binary and ordered sites: gradient [D], s_{i,k} = k·s_i.
struct OrderedSites {
  const float* gradient;
  int values;

  ISINGLASS_HD double difference(int64_t site, int from, int to) const {
    return ordered_difference(gradient, site, from, to);
  }
  // Returns the distance that dlp penalises.
  ISINGLASS_HD double distance(int from, int to) const {
    return static_cast<double>(to - from) * (to - from);
  }
};

// Gives differences at categorical sites: gradient [D, K].
struct OneHotSites {
  const float* gradient;
  int values;

  ISINGLASS_HD double difference(int64_t site, int from, int to) const {
    return one_hot_difference(gradient, values, site, from, to);
  }
  ISINGLASS_HD double distance(int from, int to) const { return from != to; }
};

// Holds the rule and its parameters, which all sites of a step share.
struct JumpParameters {
  JumpRule rule;
  Balancing balancing;
  double tau, log_tau;  // τ of lbj, lbjf and lbjb
  double penalty;       // 1/(2a) of dlp

  ISINGLASS_HD JumpParameters(const JumpShape& shape, double scale)
      : rule(shape.rule),
        balancing(shape.balancing),
        tau(scale),
        log_tau(elementary::log(scale)),
        penalty(0.5 / scale) {}
};

// Accumulates log Σ exp relative to the largest term so far.
struct LogSum {
  double max = -INFINITY, sum = 0;

  ISINGLASS_HD void add(double v) {
    if (v > max) {
      sum = sum * scaled_weight(max, v) + 1;
      max = v;
    } else {
      sum += scaled_weight(v, max);
    }
  }
  ISINGLASS_HD double log_total() const { return max + elementary::log(sum); }
};

// Returns the logarithm of a term's share of such a sum. It subtracts the maximum first, which
// keeps digits.
struct LogShare {
  double max = 0, log_sum = 0;

  LogShare() = default;
  ISINGLASS_HD explicit LogShare(const LogSum& all)
      : max(all.max), log_sum(elementary::log(all.sum)) {}
  ISINGLASS_HD double operator()(double v) const { return v - max - log_sum; }
};

// Returns log(1 − exp(−a)) for a = exp(log_a).
ISINGLASS_HD inline double log_one_minus_exp(double log_a) {
  const double a = elementary::exp(log_a);
  // The next term is a²/24. This form also serves an a that underflows.
  if (a < 1e-8) return log_a - 0.5 * a;
  return a < 0.69 ? elementary::log(-elementary::exp_pair(-a).expm1)
                  : elementary::log1p(-elementary::exp(-a));
}

// Computes a row in closed form. The term of a move is s_k − s_c (lbj, which includes the term of
// staying), log θ_k (lbjf, and lbjb with K = 2), or the exponent of dlp.
template <class Sites>
class ClosedRow {
 public:
  ISINGLASS_HD ClosedRow(const JumpParameters& time, const Sites& sites, int64_t site, int from)
      : time_(time), sites_(sites), site_(site), from_(from) {
    LogSum terms;
    for (int k = 0; k < sites.values; ++k) {
      if (k != from || time.rule == JumpRule::kInterpolation) terms.add(term(k));
    }
    log_share_ = LogShare(terms);
    const double log_terms = log_share_.max + log_share_.log_sum;
    switch (time.rule) {
      case JumpRule::kInterpolation:
        log_stay_ = log_stay_of_interpolation();
        break;
      case JumpRule::kForwardEuler:
        log_move_ = time.log_tau + log_terms;
        if (log_move_ > elementary::log(kMostMoving)) log_move_ = elementary::log(kMostMoving);
        log_stay_ = elementary::log1p(-elementary::exp(log_move_));
        break;
      case JumpRule::kBackwardEuler: {
        const double back = time.log_tau + log_balance(time.balancing, -difference(1 - from));
        set_log_odds(time.log_tau + log_terms - softplus(back));
        break;
      }
      case JumpRule::kLangevin:
        set_log_odds(log_terms);
        break;
    }
  }

  ISINGLASS_HD double log_probability(int k) const {
    if (k == from_) return log_stay_;
    return time_.rule == JumpRule::kInterpolation ? log_interpolated(k)
                                                  : log_share_(term(k)) + log_move_;
  }

 private:
  ISINGLASS_HD double difference(int k) const { return sites_.difference(site_, from_, k); }

  ISINGLASS_HD double term(int k) const {
    const double d = difference(k);
    if (time_.rule == JumpRule::kInterpolation) return d;
    if (time_.rule == JumpRule::kLangevin) {
      return 0.5 * d - time_.penalty * sites_.distance(from_, k);
    }
    return log_balance(time_.balancing, d);
  }

  // Sets both probabilities from log P(move)/P(stay).
  ISINGLASS_HD void set_log_odds(double odds) {
    log_move_ = -softplus(-odds);
    log_stay_ = -softplus(odds);
  }

  // Returns log(τ θ_k / ν_k).
  ISINGLASS_HD double log_jumps(int k) const {
    const double d = difference(k);
    return time_.log_tau + log_balance(time_.balancing, d) - log_share_(d);
  }

  ISINGLASS_HD double log_interpolated(int k) const {
    return log_share_(difference(k)) + log_one_minus_exp(log_jumps(k));
  }

  // Returns log P_c, where P_c = ν_c + Σ_{k≠c} ν_k exp(−τ θ_k / ν_k).
  ISINGLASS_HD double log_stay_of_interpolation() const {
    double moved = 0;
    for (int k = 0; k < sites_.values; ++k) {
      if (k != from_) moved += elementary::exp(log_interpolated(k));
    }
    if (moved < 0.5) return elementary::log1p(-moved);
    LogSum stayed;
    stayed.add(log_share_(0.0));
    for (int k = 0; k < sites_.values; ++k) {
      if (k != from_) stayed.add(log_share_(difference(k)) - elementary::exp(log_jumps(k)));
    }
    return stayed.log_total();
  }

  const JumpParameters& time_;
  const Sites& sites_;
  int64_t site_;
  int from_;
  LogShare log_share_;   // Normalises the terms.
  double log_move_ = 0;  // log Σ_{k≠c} P_k. Only lbj does not use it.
  double log_stay_ = 0;
};

// Returns how many scratch numbers a solved row needs: K × K jumps, K exits and K probabilities.
ISINGLASS_HD inline int solve_numbers(int categories) {
  return categories * categories + 2 * categories;
}

// Computes row c of (I − τQ)^{-1}, the distribution of a site when an exponential clock of rate 1
// rings. It uses the elimination of Grassmann, Taksar & Heyman: states are removed from the jump
// chain one after the other, and the jumps that led to a removed state are redirected to where it
// would have jumped. The method multiplies, divides and adds positive numbers only, so that every
// entry keeps its digits for any rates. Values are numbered with c first. Entries below 1e-300 are
// replaced by 1e-300, so that rows remain distributions and logarithms finite.
//
// `lanes` lanes share the work; sync() is a barrier among them.
template <class Sites, class Sync>
class SolvedRow {
 public:
  ISINGLASS_HD SolvedRow(const JumpParameters& time, const Sites& sites, int64_t site, int from,
                         double* scratch, int lane, int lanes, Sync sync)
      : count_(sites.values),
        from_(from),
        jump_(scratch),
        exit_(scratch + count_ * count_),
        probability_(exit_ + count_) {
    for (int j = lane; j < count_; j += lanes) fill(time, sites, site, j);
    sync();
    for (int n = count_ - 1; n > 0; --n) {
      eliminate(n, lane, lanes);
      sync();
    }
    if (lane == 0) substitute();
    sync();
    double moved = 0;
    for (int k = 1; k < count_; ++k) moved += probability_[k];
    log_stay_ = moved < 0.5 ? elementary::log1p(-moved) : elementary::log(probability_[0]);
  }

  ISINGLASS_HD double log_probability(int k) const {
    return k == from_ ? log_stay_ : elementary::log(probability_[k < from_ ? k + 1 : k]);
  }

 private:
  static constexpr double kFloor = 1e-300;

  ISINGLASS_HD static double floored(double v) { return v < kFloor ? kFloor : v; }

  // Fills row j: the probabilities that a jump or the clock comes next, and where the jump leads
  // from value j.
  ISINGLASS_HD void fill(const JumpParameters& time, const Sites& sites, int64_t site, int j) {
    LogSum rates;
    rates.add(0);
    for (int k = 0; k < count_; ++k) {
      if (k == j) continue;
      const double d = sites.difference(site, value_from(j, from_), value_from(k, from_));
      jump_[j * count_ + k] = time.log_tau + log_balance(time.balancing, d);
      rates.add(jump_[j * count_ + k]);
    }
    const LogShare log_share(rates);
    for (int k = 0; k < count_; ++k) {
      double& jump = jump_[j * count_ + k];
      jump = k == j ? 0 : floored(elementary::exp(log_share(jump)));
    }
    exit_[j] = probability_[j] = floored(elementary::exp(log_share(0)));
  }

  ISINGLASS_HD void eliminate(int n, int lane, int lanes) {
    const double* from_n = jump_ + n * count_;
    double out = exit_[n];
    for (int k = 0; k < n; ++k) out += from_n[k];
    for (int j = lane; j < n; j += lanes) {
      double* from_j = jump_ + j * count_;
      const double to_n = from_j[n] / out;
      // from_j[j] is not read afterwards.
      for (int k = 0; k < n; ++k) from_j[k] += to_n * from_n[k];
      exit_[j] += to_n * exit_[n];
    }
    if (lane == 0) jump_[n * count_ + n] = out;
  }

  // Computes the expected number of visits to each state into exit_, and multiplies it by the
  // probability that the clock rings there.
  ISINGLASS_HD void substitute() {
    exit_[0] = 1 / exit_[0];
    for (int k = 1; k < count_; ++k) {
      double visits = 0;
      for (int j = 0; j < k; ++j) visits += exit_[j] * jump_[j * count_ + k];
      exit_[k] = visits / jump_[k * count_ + k];
    }
    for (int k = 0; k < count_; ++k) probability_[k] = floored(exit_[k] * probability_[k]);
  }

  int count_, from_;
  double *jump_, *exit_, *probability_;
  double log_stay_;
};

ISINGLASS_HD inline bool needs_solve(const JumpShape& shape) {
  return shape.rule == JumpRule::kBackwardEuler && shape.categories > 2;
}

// Draws sites: each site takes a value from its row by one random number, with staying as the first
// value of the inverse CDF.
struct DrawTarget {
  PhiloxStream draws;
  int categories;
  const uint8_t* x;
  uint8_t* y;

  template <class Row>
  ISINGLASS_HD double log_probability(const Row& row, int64_t site) const {
    const double u = draws.site_uniform(Purpose::kSiteValue, Purpose::kSiteValueRest,
                                        static_cast<uint32_t>(site));
    const int from = x[site];
    const auto probability = [&](int64_t place) {
      return elementary::exp(row.log_probability(value_from(static_cast<int>(place), from)));
    };
    const int value =
        value_from(static_cast<int>(inverse_cdf(categories, probability, u, 0)), from);
    y[site] = static_cast<uint8_t>(value);
    return row.log_probability(value);
  }
};

// Scores sites whose new values are given.
struct ScoreTarget {
  const uint8_t *x, *y;

  template <class Row>
  ISINGLASS_HD double log_probability(const Row& row, int64_t site) const {
    return row.log_probability(y[site]);
  }
};

}  // namespace isinglass
