// The workloads whose cost users wait for, run on an emulated GPU (played_device.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace isinglass {

// Chains that are ready to run.
struct Work {
  std::function<void(int64_t steps)> run;  // runs that many steps at once, or one iteration
  int64_t at_once = 1;                     // steps per launch
  double flops = 0;                        // of products and convolutions, per step and chain
};

struct Workload {
  std::string name, what;
  int64_t chains;  // chains of the extrapolated run
  // Chains of the actual runs. Counts are extrapolated from this number and from twice this number.
  int64_t few;
  std::function<Work(int64_t chains)> make;
  // The name of the workload that a CUDA graph holds as a part of this one, and how often. If there
  // is none, all of it is captured.
  std::string graph_of = {};
  int64_t graph_times = 0;
};

const std::vector<Workload>& workloads();

}  // namespace isinglass
