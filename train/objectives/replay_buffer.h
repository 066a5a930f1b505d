// The replay buffer of persistent chains, on the device that samples (Du & Mordatch 2019). Tieleman
// 2008 is the special case in which every iteration advances every chain.
#pragma once

#include <cstdint>
#include <optional>

#include "io/torch.h"
#include "kernels/random/philox.h"
#include "models/bounds.h"
#include "models/energy_model.h"

namespace isinglass {

// Returns uniformly drawn states [N, D] of a model, whose states are discrete or within bounds, for
// chains outside the buffer. numbers: the chains' numbers, int64 [N].
torch::Tensor uniform_chains(const EnergyModel& model, const torch::Tensor& numbers, uint64_t key,
                             int64_t time, Purpose purpose);

// The base distribution, from which chains start and restart: independent sites. It lies on the
// device that samples.
class BaseDistribution {
 public:
  // Discrete sites: Bernoulli(mean) for mean float32 [D]; the frequencies float64 [D, K] for
  // categorical sites.
  BaseDistribution(const torch::Tensor& mean);  // NOLINT(google-explicit-constructor)
  // Continuous sites: N(mean, deviation²), both floating [D].
  static BaseDistribution normal(const torch::Tensor& mean, const torch::Tensor& deviation);
  // `sites` continuous sites, uniform within bounds.
  static BaseDistribution uniform(int64_t sites, const Bounds& bounds, torch::Device device);

  int64_t sites() const { return mean_.size(0); }
  torch::Device device() const { return mean_.device(); }
  torch::ScalarType dtype() const;  // of the states: uint8 or float32

  // Draws states [N, D] for the chains of these numbers, int64 [N].
  torch::Tensor draw(const torch::Tensor& numbers, uint64_t key, int64_t time,
                     Purpose purpose) const;

 private:
  torch::Tensor mean_;       // float32 [D] or float64 [D, K]; only its size if there are bounds
  torch::Tensor deviation_;  // float32 [D], for normal()
  std::optional<Bounds> bounds_;  // for uniform()
};

class ReplayBuffer {
 public:
  // Draws `size` chains from the base distribution. The buffer lies on its device.
  ReplayBuffer(BaseDistribution base, int64_t size, uint64_t seed);

  int64_t size() const { return states_.size(0); }
  torch::Tensor& states() { return states_; }  // uint8 or float32 [size, D]
  const torch::Tensor& states() const { return states_; }

  // Sets the seed of the draws from now on.
  void set_seed(uint64_t seed);

  // Draws `count` distinct slots for an iteration, int64 [count], on the buffer's device.
  torch::Tensor draw_slots(int64_t count, int64_t iteration) const;

  // Returns the chains of the slots [count, D]. Each is replaced by a draw from the base
  // distribution with probability `reinit`.
  torch::Tensor chains(const torch::Tensor& slots, double reinit, int64_t iteration) const;

  // Redraws the chains of the slots from the base distribution; `time` counts such redraws from 1.
  void reinitialise(const torch::Tensor& slots, int64_t time);

  void write_back(const torch::Tensor& slots, const torch::Tensor& chains);

 private:
  BaseDistribution base_;
  torch::Tensor states_;  // [size, D]
  uint64_t key_;
};

}  // namespace isinglass
