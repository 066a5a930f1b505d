// The learning rate of an iteration. It rises linearly during the warm-up. Afterwards it is
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

const std::vector<std::string>& rate_schedules();  // names in the order of the enumeration
RateSchedule rate_schedule(const std::string& name);
const std::string& name_of(RateSchedule schedule);

struct LearningRate {
  double peak = 1e-4;  // η
  double end = 0;      // η_end; not used by `constant`
  int64_t warmup = 10000;
  RateSchedule schedule = RateSchedule::kConstant;
  // The first and last iteration of the descent, which never begins before the end of the warm-up.
  int64_t from = 0, to = 1;

  double at(int64_t iteration) const;  // iteration: from 1
};

}  // namespace isinglass
