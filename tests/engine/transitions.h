// One real step of a sampler from every state of a tiny target, many chains each, and how far its
// transition frequencies lie from an enumerated matrix.
#pragma once

#include "engine/registry.h"
#include "engine/sampler.h"
#include "tests/reference/enumeration.h"
#include "tests/reference/tiny_target.h"

namespace isinglass {

using reference::Matrix;
using reference::Target;
using reference::TinyModel;
using reference::TinyTarget;

inline constexpr int kDrawsPerState = 16384;

inline torch::Tensor states_tensor(const Target& target, int64_t repeats) {
  const auto& states = target.table.states;
  torch::Tensor x =
      torch::empty({static_cast<int64_t>(states.size()), target.table.sites}, torch::kUInt8);
  for (size_t s = 0; s < states.size(); ++s) {
    for (int i = 0; i < target.table.sites; ++i) x[s][i] = states[s][i];
  }
  return x.repeat_interleave(repeats, 0);
}

// Indices of states, int64 [B].
inline torch::Tensor state_index(const torch::Tensor& x, int categories) {
  torch::Tensor index = torch::zeros({x.size(0)}, torch::kInt64);
  for (int64_t i = x.size(1); i-- > 0;)
    index = index * categories + x.select(1, i).to(torch::kInt64);
  return index;
}

struct Frequencies {
  Matrix share;       // [from][to]
  double accepted;    // share of chains that moved
  double acceptance;  // the sampler's own report
};

// One real step from every state, many chains each.
inline Frequencies real_step(EnergyModel& model, const Target& target, const std::string& name,
                             const SamplerOptions& options, int64_t step_number = 0,
                             const NamedTensors& learned = {}) {
  const int categories = target.table.categories;
  const auto n = static_cast<int64_t>(target.table.states.size());
  const auto sampler = make_sampler(name, options, model);
  const torch::Tensor x = states_tensor(target, kDrawsPerState);
  ChainState state = sampler->init(model, x, torch::arange(x.size(0)));
  if (!learned.empty()) sampler->warmup()->restore(state, learned);
  StepParams params = sampler->params(20240501, torch::kCPU, step_number);
  sampler->step(model, state, params);
  const torch::Tensor pairs = state_index(x, categories) * n + state_index(state.x, categories);
  const torch::Tensor counts =
      torch::bincount(pairs, {}, n * n).to(torch::kFloat64) / kDrawsPerState;
  Frequencies result{Matrix(n, std::vector<double>(n)), 0, 0};
  for (int64_t s = 0; s < n; ++s) {
    for (int64_t e = 0; e < n; ++e) result.share[s][e] = counts[s * n + e].item<double>();
  }
  result.accepted = (state.statistics.hops > 0).to(torch::kFloat64).mean().item<double>();
  result.acceptance = state.statistics.acceptance.mean().item<double>();
  return result;
}

inline Frequencies real_step(const TinyTarget& tiny, const std::string& name,
                             const SamplerOptions& options, int64_t step_number = 0,
                             const NamedTensors& learned = {}) {
  TinyModel model(tiny);
  return real_step(model, tiny.enumerate(), name, options, step_number, learned);
}

// The largest deviation in binomial standard errors (with at least one expected count).
inline double worst_deviation(const Matrix& share, const Matrix& expected) {
  const double n = kDrawsPerState;
  double worst = 0;
  for (size_t s = 0; s < share.size(); ++s) {
    for (size_t e = 0; e < share.size(); ++e) {
      const double p = expected[s][e];
      const double se = std::sqrt(std::max(p * (1 - p), 1 / n) / n);
      worst = std::max(worst, std::abs(share[s][e] - p) / se);
    }
  }
  return worst;
}

}  // namespace isinglass
