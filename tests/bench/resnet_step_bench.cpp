// The cost of a whole sampling step on a ResNet EBM beside the bare cost of one energy + gradient.
//
//   resnet_step_bench [--channels 64] [--chains 100] [--repeats 9] [--sampler pafs] [--radius 5]
//                     [--limit 0] [--device cpu]
//
// Checks first (the step's cached energy equals a recomputed one), warms up, then times the two in
// turn and prints medians, spread and their ratio. With --limit R > 0 the exit status is 1 if the
// ratio of the medians exceeds R.
#include <fmt/format.h>
#include <malloc.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cxxopts.hpp>
#include <vector>

#include "engine/run.h"
#include "engine/sampler.h"
#include "models/registry.h"

using namespace isinglass;

namespace {

// f must end with its work done: on a GPU, synchronised.
double milliseconds(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

struct Spread {
  double median, least, most;
};

Spread spread(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front(), times.back()};
}

}  // namespace

int main(int argc, char** argv) {
  cxxopts::Options options("resnet_step_bench");
  options.add_options()("channels", "", cxxopts::value<int64_t>()->default_value("64"))(
      "chains", "", cxxopts::value<int64_t>()->default_value("100"))(
      "repeats", "", cxxopts::value<int>()->default_value("9"))(
      "sampler", "", cxxopts::value<std::string>()->default_value("pafs"))(
      "radius", "", cxxopts::value<double>()->default_value("5"))(
      "limit", "", cxxopts::value<double>()->default_value("0"))(
      "device", "", cxxopts::value<std::string>()->default_value("cpu"));
  const auto flags = options.parse(argc, argv);
  // As the program does: keep freed activations instead of returning them to the system.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 256 << 20);

  const int64_t chains = flags["chains"].as<int64_t>();
  const auto model = new_model("resnet", {.channels = flags["channels"].as<int64_t>()}, 1);
  const torch::Device device(flags["device"].as<std::string>());
  model->to(device);
  const auto sampler = make_sampler(flags["sampler"].as<std::string>(),
                                    {.radius = flags["radius"].as<double>()}, *model);
  const torch::Tensor ids = torch::arange(chains);
  ChainState state = sampler->init(*model, random_states(model->space(), ids, 0, device), ids);
  StepParams params = sampler->params(0, device);

  Evaluation bare;
  const auto finish = [&] {
    if (device.is_cuda()) torch::cuda::synchronize(device.index());
  };
  const auto evaluate = [&] {
    model->evaluate(state.x, bare);
    finish();
  };
  const auto step = [&] {
    sampler->step(*model, state, params);
    finish();
  };
  evaluate();
  step();
  model->evaluate(state.x, bare);
  if (!torch::allclose(bare.energy, state.current.energy, 1e-5, 1e-5)) {
    fmt::print("the cached energy differs from a recomputed one\n");
    return 1;
  }
  std::vector<double> bare_times, step_times;
  for (int i = 0; i < flags["repeats"].as<int>(); ++i) {
    bare_times.push_back(milliseconds(evaluate));
    step_times.push_back(milliseconds(step));
  }
  const Spread b = spread(bare_times), s = spread(step_times);
  const double ratio = s.median / b.median;
  fmt::print(
      "ResNet-{}, {} chains, 28x28, {}, {} threads, seed 0, medians of {} interleaved repeats\n",
      flags["channels"].as<int64_t>(), chains, device.str(), omp_get_max_threads(),
      bare_times.size());
  fmt::print("energy + gradient  {:8.2f} ms  ({:.2f} to {:.2f})\n", b.median, b.least, b.most);
  fmt::print("{:<17}  {:8.2f} ms  ({:.2f} to {:.2f})  {:.2f} steps/s\n",
             flags["sampler"].as<std::string>() + " step", s.median, s.least, s.most,
             1000 / s.median);
  fmt::print("ratio              {:8.3f}\n", ratio);
  const double limit = flags["limit"].as<double>();
  return limit > 0 && ratio > limit ? 1 : 0;
}
