// See profile.h.
#include "lab/bench/profile.h"

#include <torch/csrc/autograd/profiler_kineto.h>

#include <cstdio>
#include <cstdlib>

namespace isinglass {
namespace {

bool profiled = false;

}  // namespace

void write_profile(const std::filesystem::path& file, torch::Device device,
                   const std::function<void()>& work) {
  namespace profiler = torch::autograd::profiler;
  using torch::profiler::impl::ActivityType;
  setenv("KINETO_LOG_LEVEL", "99", 0);  // it complains of a missing GPU on stderr
  const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO);
  std::set<ActivityType> activities = {ActivityType::CPU};
  if (device.is_cuda()) activities.insert(ActivityType::CUDA);
  profiled = true;
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities);
  work();
  profiler::disableProfiler()->save(file.string());
}

void exit_after_profile(int code) {
  if (!profiled) return;
  std::fflush(nullptr);
  std::_Exit(code);
}

}  // namespace isinglass
