// Draws states of a standard target as data, from which a model may learn the target. The chains
// are independent and make long Gibbs runs, as in Grathwohl et al. 2021 (a million one-site steps,
// which are 1600 sweeps of their lattice).
#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "io/error.h"
#include "kernels/random/streams.h"
#include "models/instances/instances.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

constexpr int64_t kStates = 2000, kSweeps = 2000;

}  // namespace

Dataset draw_target_states(const std::string& instance) {
  const std::shared_ptr<EnergyModel> target = make_instance(instance);
  const StateSpace space = target->space();
  require(space.kind == StateKind::kBinary && target->sweeps(),
          "states of {} cannot be drawn as data; this requires binary sites and Gibbs sweeps, such "
          "as those of a lattice",
          instance);
  const auto sampler = make_sampler("gibbs", {.scan = Scan::kChromatic}, *target);
  const uint64_t key = stream_key(0, RandomStream::kReference);
  const torch::Tensor ids = torch::arange(kStates, torch::kInt64);
  ChainState state = sampler->init(*target, random_states(space, ids, key, torch::kCPU), ids);
  StepParams params = sampler->params(key, torch::kCPU);
  for (int64_t sweep = 0; sweep < kSweeps; ++sweep) sampler->step(*target, state, params);
  Dataset data;
  data.train = state.x.clone();
  std::tie(data.height, data.width) = image_size(data.train);
  data.flat = true;
  data.source =
      fmt::format("{} states of {}, each after {} Gibbs sweeps", kStates, instance, kSweeps);
  data.drawn_from = target;
  return data;
}

}  // namespace isinglass
