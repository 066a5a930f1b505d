// Implements the sampling of missing values.
#include "train/objectives/missing_values.h"

#include <memory>

#include "engine/registry.h"
#include "io/error.h"
#include "kernels/ops/random.h"
#include "kernels/random/streams.h"
#include "models/conditional/conditional.h"
#include "models/energies.h"
#include "models/network/rbm.h"

namespace isinglass {
namespace {

// Returns draws of independent pixels, uint8 [N, D], for the images of these numbers, int64 [N].
torch::Tensor independent_draws(const torch::Tensor& mean, const torch::Tensor& images,
                                uint64_t key, int64_t time) {
  torch::Tensor drawn =
      torch::empty({images.size(0), mean.size(0)}, images.options().dtype(torch::kUInt8));
  ops::site_rows(mean.contiguous(), images, static_cast<int64_t>(key), time, Purpose::kInitialState,
                 drawn);
  return drawn;
}

// Some images of a batch, each of which has missing values.
struct Incomplete {
  torch::Tensor images;   // int64 [B]: their numbers
  torch::Tensor missing;  // bool [B, D]
  torch::Tensor states;   // uint8 [B, D]
};

// Makes block Gibbs sweeps that hold the known values. (ConditionalModel would make the same ones,
// but is not made anew for every batch in as little time as they take.)
torch::Tensor swept(RbmModel& machine, const Incomplete& rows, const StepParams& params,
                    int64_t steps) {
  Evaluation at;
  machine.evaluate_energy(rows.states, at);
  Statistics counts = Statistics::create(rows.states.size(0), rows.states.device());
  torch::Tensor x = rows.states.clone();
  machine.sweep(steps, params.rng, rows.images, x, at.cache.at(0), /*energy=*/{}, counts, {},
                rows.missing.logical_not());
  return x;
}

torch::Tensor stepped(EnergyModel& model, const Incomplete& rows, uint64_t key, int64_t first,
                      int64_t steps) try {
  const torch::Tensor given = rows.states.to(torch::kInt16).masked_fill(rows.missing, -1);
  const FixedSites known(model.space(), given, "the training images", rows.states.device());
  // The conditional model does not own the model, which outlives it.
  const auto conditional = std::make_shared<ConditionalModel>(
      std::shared_ptr<EnergyModel>(std::shared_ptr<EnergyModel>(), &model), known);
  const auto sampler = make_sampler("pafs", {}, *conditional);
  ChainState state = sampler->init(*conditional, known.restrict(rows.states), rows.images);
  StepParams params = sampler->params(key, rows.states.device(), first);
  sampler->steps(*conditional, state, params, steps);
  return known.complete(state.x);
} catch (const NonFinite& error) {
  throw NumericalError(error.what());
}

}  // namespace

Dataset with_drawn_values(const Dataset& data, uint64_t seed) {
  if (!data.missing.defined()) return data;
  const torch::Tensor draws =
      independent_draws(clamped_mean(data), torch::arange(data.train.size(0), torch::kInt64),
                        stream_key(seed, RandomStream::kMissing), /*time=*/0);
  Dataset drawn = data;
  drawn.train = torch::where(data.missing, data.dynamic() ? draws * 255 : draws, data.train);
  drawn.missing.reset();
  return drawn;
}

MissingValues::MissingValues(const Dataset& data, const Dataset& drawn, int64_t steps,
                             uint64_t seed, torch::Device device)
    : missing_(data.missing.to(device)),
      states_(binarise_once(drawn.train, drawn.values, /*split=*/0).to(device).clone()),
      mean_(clamped_mean(data).to(device)),
      steps_(steps),
      key_(stream_key(seed, RandomStream::kMissing)) {}

torch::Tensor MissingValues::fill(EnergyModel& model, const torch::Tensor& images,
                                  const torch::Tensor& states, int64_t iteration) {
  torch::NoGradGuard no_grad;
  const torch::Tensor of_batch = images.to(states.device());
  const torch::Tensor missing = missing_.index_select(0, of_batch);
  torch::Tensor x = torch::where(missing, states_.index_select(0, of_batch), states);
  const torch::Tensor which = missing.any(1).nonzero().flatten();
  if (which.numel() == 0) return x;
  const Incomplete rows{of_batch.index_select(0, which), missing.index_select(0, which),
                        x.index_select(0, which)};
  const int64_t first = (iteration - 1) * steps_;
  auto* machine = dynamic_cast<RbmModel*>(&model);
  const torch::Tensor moved =
      machine ? swept(*machine, rows, StepParams::create(key_, {}, states.device(), first), steps_)
              : stepped(model, rows, key_, first, steps_);
  x.index_copy_(0, which, moved);
  states_.index_copy_(0, rows.images,
                      torch::where(rows.missing, moved, states_.index_select(0, rows.images)));
  return x;
}

void MissingValues::repair(EnergyModel& model, int64_t time) {
  const torch::Tensor energy = energies(model, states_, states_.device());
  const torch::Tensor lost =
      torch::isfinite(energy).logical_not().nonzero().flatten().to(states_.device());
  if (lost.numel() == 0) return;
  states_.index_copy_(
      0, lost,
      torch::where(missing_.index_select(0, lost), independent_draws(mean_, lost, key_, time),
                   states_.index_select(0, lost)));
}

}  // namespace isinglass
