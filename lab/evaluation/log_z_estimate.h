// One estimate of a model's log Z from both ends, or from below alone, which can be stopped and
// gone on with: by annealing (annealed_estimate.h) or by tempering (tempered_estimate.h).
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/annealing/ais.h"
#include "io/pt/pt_file.h"

namespace isinglass {

class LogZEstimate {
 public:
  virtual ~LogZEstimate() = default;

  // To the end, or until stop() is true; on_step after every step. Returns whether it is finished.
  // Throws NumericalError for an energy that is not finite.
  virtual bool run(const std::function<void()>& on_step, const std::function<bool()>& stop) = 0;
  virtual int64_t steps_done() const = 0;
  virtual int64_t steps_total() const = 0;
  // Global numbers of chains that it has, its first one on.
  virtual int64_t chain_numbers() const = 0;

  // All that run() needs to go on; restore() throws Error if that is of another estimate.
  virtual PtDict checkpoint() const = 0;
  virtual void restore(const PtDict& checkpoint) = 0;

  // Once it is finished.
  virtual LogZBounds log_z() const = 0;
  virtual BracketVerdict verdict(double largest_bracket) const = 0;
  virtual std::vector<CurvePoint> curve() const = 0;  // the last point is the estimate
  virtual std::string text() const = 0;               // lines for who waits
  virtual nlohmann::ordered_json json() const = 0;    // what ais.json says of the estimate
  virtual double acceptance() const = 0;
  virtual int64_t energy_evaluations() const = 0;
  virtual PtDict chains() const = 0;  // chains.pt
  // Of the chains that reverse annealing began from; none: there was no such.
  virtual std::optional<double> reverse_start_rhat() const { return {}; }
  // int16 [H, R]: rungs.pt; undefined: there are no rungs.
  virtual torch::Tensor rung_history() const { return {}; }
};

// "1239.876 ± 0.080"; without an error "± undefined".
std::string estimate_text(double value, double error);

}  // namespace isinglass
