// Exponential moving average of parameters. The t-th update is
//   θ̄ ← d θ̄ + (1 − d) θ,  d = min(decay, (1 + t) / (10 + t)),
// starting from θ̄ = θ. While t is small, θ̄ averages about the last tenth of the updates, so that
// the average of a short run does not consist of its initial parameters.
//
// Averages of 16-bit parameters are float32: in bfloat16, θ̄ would stop moving where
// (1 − d)(θ − θ̄) is less than the last of its 8 bits.
#pragma once

#include <exception>
#include <vector>

#include "io/torch.h"

namespace isinglass {

class Ema {
 public:
  Ema(std::vector<torch::Tensor> parameters, double decay);

  // skip: as in Adam::step(). If it is 1, θ̄ and t stay as they are.
  void update(const torch::Tensor& skip = {});

  // Writes the averages to the parameters, in their types. restore() writes the values back that
  // these had, bit for bit.
  void apply();
  void restore();

  // Returns the averages in the types of the parameters.
  std::vector<torch::Tensor> rounded() const;

  // The state for checkpoints: the averages in the order of the parameters, and t, float64 [].
  const std::vector<torch::Tensor>& averages() const { return averages_; }
  const torch::Tensor& updates() const { return updates_; }

 private:
  std::vector<torch::Tensor> parameters_, averages_;
  std::vector<torch::Tensor> replaced_;  // by apply(); their memory is kept
  double decay_;
  torch::Tensor updates_;  // on the parameters' device
};

// Replaces the parameters by their averages for the lifetime of this object.
class Averaged {
 public:
  explicit Averaged(Ema& ema) : ema_(ema) { ema_.apply(); }
  // Throws what a failing device makes restore() throw, unless another exception is on its way.
  ~Averaged() noexcept(false) {
    try {
      ema_.restore();
    } catch (...) {
      if (std::uncaught_exceptions() == exceptions_) throw;
    }
  }
  Averaged(const Averaged&) = delete;
  Averaged& operator=(const Averaged&) = delete;

 private:
  Ema& ema_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace isinglass
