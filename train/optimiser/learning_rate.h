// The learning rate of an iteration. It rises linearly over the warm-up; after it,
//   η(t) = η_end + (η − η_end)·f(s),   s = (t − from) / (to − from)
//   constant  η itself
//   linear    f(s) = 1 − s
//   cosine    f(s) = (1 + cos πs) / 2          (Loshchilov & Hutter 2017, "SGDR", eq. 5)
//   inverse   f(s) = (1 − s) / (1 + 9s)        1/t decay, shifted so that it ends at 0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace isinglass {

enum class RateSchedule { kConstant, kLinear, kCosine, kInverse };

const std::vector<std::string>& rate_schedules();  // their names, in this order
RateSchedule rate_schedule(const std::string& name);
const std::string& name_of(RateSchedule schedule);

struct LearningRate {
  double peak = 1e-4;  // η
  double end = 0;      // η_end; constant has none
  int64_t warmup = 10000;
  RateSchedule schedule = RateSchedule::kConstant;
  int64_t from = 0, to = 1;  // iterations; the descent begins at `from`, but never in the warm-up

  double at(int64_t iteration) const;  // from 1
};

}  // namespace isinglass
