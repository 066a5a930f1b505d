// What is counted: the steps that users wait for, on a GPU that is played (played_device.h); not training,
// whose autograd asks for a real one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace isinglass {

// Chains that are ready to go on.
struct Work {
  std::function<void(int64_t steps)> run;  // that many at once, or one iteration
  int64_t at_once = 1;                     // steps of a launch
  double flops = 0;                        // of products and convolutions, a step and chain
};

struct Workload {
  std::string name, what;
  int64_t chains;  // of the prediction
  int64_t few;     // and those that are run; counts of so many and of twice as many are drawn out
  std::function<Work(int64_t chains)> make;
};

const std::vector<Workload>& workloads();

}  // namespace isinglass
