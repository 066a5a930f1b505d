// Declares the interface of an estimate of a model's log Z, from both ends or from below alone,
// that can be stopped and resumed. It is implemented by annealing (annealed_estimate.h) and by
// tempering (tempered_estimate.h).
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

  // Runs to the end, or until stop() is true, and returns whether it is finished. Calls on_step
  // after every step. Throws NumericalError for an energy that is not finite.
  virtual bool run(const std::function<void()>& on_step, const std::function<bool()>& stop) = 0;
  virtual int64_t steps_done() const = 0;
  virtual int64_t steps_total() const = 0;
  // Returns how many global chain numbers the estimate uses, from its first chain on.
  virtual int64_t chain_numbers() const = 0;

  // Returns all that run() needs to continue. restore() throws Error if the checkpoint belongs to
  // another estimate.
  virtual PtDict checkpoint() const = 0;
  virtual void restore(const PtDict& checkpoint) = 0;

  // The results below are valid once the estimate is finished.
  virtual LogZBounds log_z() const = 0;
  virtual BracketVerdict verdict(double largest_bracket) const = 0;
  virtual std::vector<CurvePoint> curve() const = 0;  // The last point is the estimate.
  // Return lines for the terminal and the estimate's part of ais.json. start_error is the standard
  // error of log Z of the distribution where the estimate begins; the errors that are shown contain
  // it.
  virtual std::string text(double start_error) const = 0;
  virtual nlohmann::ordered_json json(double start_error) const = 0;
  virtual double acceptance() const = 0;
  virtual int64_t energy_evaluations() const = 0;
  virtual PtDict chains() const = 0;  // Returns the contents of chains.pt.
  // Returns R̂ of the chains whose states started the reverse annealing, or nothing without it.
  virtual std::optional<double> reverse_start_rhat() const { return {}; }
  // Returns the rungs over time for rungs.pt, int16 [H, R]; undefined if there are no rungs.
  virtual torch::Tensor rung_history() const { return {}; }
};

// Formats "-95.100 to -94.900", or "undefined" without an interval.
std::string interval_text(const std::optional<ErrorInterval>& interval);
// Formats "1239.876 ± 0.080", or "1239.876 ± undefined" if the error is NaN.
std::string estimate_text(double value, double error);

}  // namespace isinglass
