// Implements the trace with LibTorch's Kineto profiler.
#include "lab/bench/profile.h"

#include <torch/csrc/autograd/profiler_kineto.h>

namespace isinglass {

void write_profile(const std::filesystem::path& file, torch::Device device,
                   const std::function<void()>& work) {
  namespace profiler = torch::autograd::profiler;
  using torch::profiler::impl::ActivityType;
  const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO);
  std::set<ActivityType> activities = {ActivityType::CPU};
  if (device.is_cuda()) activities.insert(ActivityType::CUDA);
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities);
  work();
  profiler::disableProfiler()->save(file.string());
}

}  // namespace isinglass
