// Local self-balancing written from the formulas of docs/concepts/samplers.md, in plain float64
// loops: parametrised balancing functions as plain numbers of t, the transition matrix of one flip,
// and the objective with its expectation.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/reference/enumeration.h"

namespace isinglass::reference {

enum class Form { kMixture, kNetwork, kMonotonic };
using Parameters = std::vector<double>;

inline double softplus_of(double z) {
  return z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z));
}

// z of the networks at log t.
inline double network_input(Form form, const Parameters& theta, double log_t) {
  if (form == Form::kNetwork) {
    double z = theta[30];
    for (int k = 0; k < 10; ++k)
      z += theta[20 + k] * std::max(0.0, theta[k] * log_t + theta[10 + k]);
    return z;
  }
  double least = INFINITY;
  for (int k = 0; k < 20; ++k) {
    double most = -INFINITY;
    for (int j = 0; j < 20; ++j) {
      most = std::max(most, std::exp(theta[20 * k + j]) * log_t + theta[400 + 20 * k + j]);
    }
    least = std::min(least, most);
  }
  return least;
}

// g_θ(t), not its logarithm.
inline double learned_balance(Form form, const Parameters& theta, double t) {
  if (form == Form::kMixture) {
    double total = 0, g = 0;
    for (int j = 0; j < 4; ++j) {
      total += std::exp(theta[j]);
      g += std::exp(theta[j]) * balance(static_cast<G>(j), t);
    }
    return g / total;
  }
  const double log_t = std::log(t);
  return 0.5 * softplus_of(network_input(form, theta, log_t)) +
         0.5 * t * softplus_of(network_input(form, theta, -log_t));
}

struct SelfBalancing {
  const Target& target;
  Form form;
  bool exact;  // lsb: exact differences; else flsb
  Parameters theta;
  double log_eta = 0;
  Fault fault = Fault::kNone;

  State flipped(State x, int i) const {
    x[i] = 1 - x[i];
    return x;
  }
  double energy(const State& x) const { return target.energy[target.table.index(x)]; }

  // g_θ of flipping site i of x, with the gradient at `at`.
  double weight(const State& x, const State& at, int i) const {
    const double slope = target.gradient[target.table.index(at)][i][1];
    const double d = exact ? energy(at) - energy(flipped(at, i)) : (1 - 2 * x[i]) * -slope;
    return learned_balance(form, theta, std::exp(d));
  }
  double probability(const State& x, const State& at, int i) const {
    double total = 0;
    for (int j = 0; j < target.table.sites; ++j) total += weight(x, at, j);
    return weight(x, at, i) / total;
  }
  double forward(const State& x, int i) const { return probability(x, x, i); }
  double backward(const State& x, int i) const {
    const State y = flipped(x, i);
    return fault == Fault::kNoReverse    ? 1.0
           : fault == Fault::kReverseAtX ? probability(y, x, i)
                                         : forward(y, i);
  }
  double acceptance(const State& x, int i) const {
    const double difference = energy(x) - energy(flipped(x, i));
    const double q = fault == Fault::kNoReverse ? 1.0 : forward(x, i);
    return std::min(
        1.0, std::exp(fault == Fault::kSign ? -difference : difference) * backward(x, i) / q);
  }
};

inline Matrix self_balancing_transitions(const SelfBalancing& sampler) {
  const auto& states = sampler.target.table.states;
  Matrix t(states.size(), std::vector<double>(states.size(), 0.0));
  for (size_t s = 0; s < states.size(); ++s) {
    for (int i = 0; i < sampler.target.table.sites; ++i) {
      const double q = sampler.forward(states[s], i), a = sampler.acceptance(states[s], i);
      t[s][sampler.target.table.index(sampler.flipped(states[s], i))] += q * a;
      t[s][s] += q * (1 - a);
    }
  }
  return t;
}

// J of one chain at x with x′ = flip of `move`, x* = flip of `star` drawn at θ0, less U(x).
inline double self_balancing_j(const SelfBalancing& now, const SelfBalancing& drawn, const State& x,
                               int move, int star) {
  const double a = now.acceptance(x, move), b = now.acceptance(x, star);
  const double r = now.forward(x, move) / drawn.forward(x, move);
  const double r_star = now.forward(x, star) / drawn.forward(x, star);
  const double m1 = 1 - r * a, m2 = 1 - r_star * b;
  const double u = now.energy(x), u_move = now.energy(now.flipped(x, move));
  return r * a * (std::log(a) + std::log(now.forward(x, move)) + u_move) +
         m1 * (u - now.log_eta - 1) + std::exp(now.log_eta) * m1 * m2 - u;
}

// E J over x ~ π and x′, x* ~ Q_θ(· | x), minimised over η (e^η = E m / E m² with m the probability
// of rejection at x), so that only θ matters.
inline double least_expected_j(const SelfBalancing& sampler) {
  const std::vector<double> pi = sampler.target.probabilities();
  const int d = sampler.target.table.sites;
  Matrix q(pi.size(), std::vector<double>(d));
  for (size_t s = 0; s < pi.size(); ++s) {
    const State& x = sampler.target.table.states[s];
    double total = 0;
    for (int i = 0; i < d; ++i) total += q[s][i] = sampler.weight(x, x, i);
    for (double& value : q[s]) value /= total;
  }
  double moved = 0, m1 = 0, m2 = 0;
  for (size_t s = 0; s < pi.size(); ++s) {
    double m = 0;
    for (int i = 0; i < d; ++i) {
      const int e = sampler.target.table.index(sampler.flipped(sampler.target.table.states[s], i));
      const double rise = sampler.target.energy[e] - sampler.target.energy[s];
      const double a = std::min(1.0, std::exp(-rise) * q[e][i] / q[s][i]);
      moved += pi[s] * q[s][i] * a * (std::log(a) + std::log(q[s][i]) + rise);
      m += q[s][i] * (1 - a);
    }
    m1 += pi[s] * m;
    m2 += pi[s] * m * m;
  }
  return moved - m1 * std::log(m1 / m2);
}

}  // namespace isinglass::reference
