// What is counted: what users wait for, on a GPU that is played (played_device.h).
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
  // The workload that a CUDA graph holds as a part of this one, and how often; none: all of it is captured.
  std::string graph_of = {};
  int64_t graph_times = 0;
};

const std::vector<Workload>& workloads();

}  // namespace isinglass
