// Implements the tensor layer of RBMs: it checks tensors, runs the kernels of free_energy.h and
// rbm_gibbs.h.
#include "kernels/ops/rbm.h"

#include "kernels/ops/check.h"
#include "kernels/rbm/rbm_gibbs.h"

namespace isinglass::ops {

void move_hidden(const HiddenTensors& w, const Tensor& x, const Tensor& inputs_at_x,
                 const Tensor& y, Tensor& inputs, Tensor& energy, const Tensor& on) {
  TORCH_CHECK(y.dim() == 2 && w.by_visible.dim() == 2 && x.defined() == inputs_at_x.defined(),
              "isinglass operator: y must be [B, D] and weights [D, H]; x and its inputs must be "
              "given together");
  const HiddenShape shape{y.size(0), y.size(1), w.by_visible.size(1)};
  const int64_t units = shape.chains * shape.hidden;
  check(y, y, torch::kUInt8, y.numel(), "y");
  check(w.by_visible, y, torch::kFloat32, shape.visible * shape.hidden, "by_visible");
  check(w.visible_biases, y, torch::kFloat32, shape.visible, "visible_biases");
  check(w.hidden_biases, y, torch::kFloat32, shape.hidden, "hidden_biases");
  if (x.defined()) {
    check(x, y, torch::kUInt8, y.numel(), "x");
    check(inputs_at_x, y, torch::kFloat64, units, "inputs_at_x");
  }
  check(inputs, y, torch::kFloat64, units, "inputs");
  check(energy, y, torch::kFloat64, shape.chains, "energy");
  if (on.defined()) check(on, y, torch::kFloat32, units, "on");
  const HiddenWeights weights{data<float>(w.by_visible), data<float>(w.visible_biases),
                              data<float>(w.hidden_biases)};
  const HiddenStart start{data<uint8_t>(x), data<double>(inputs_at_x)};
  const HiddenUnits out{data<double>(inputs), data<double>(energy), data<float>(on)};
  run_twin(y, cpu::move_hidden, cuda::move_hidden, shape, weights, start, data<uint8_t>(y), out);
}

namespace {

// Returns w [units, columns], below its biases, in the layout of TiledMatrix.
Tensor tiled(const Tensor& w, const Tensor& biases) {
  const int64_t tiles = tile_count(w.size(1));
  const Tensor rows = torch::constant_pad_nd(
      torch::cat({biases.unsqueeze(0), w}),
      {0, tiles * kTileColumns - w.size(1), 0, tile_rows(w.size(0)) - 1 - w.size(0)});
  return rows.view({-1, tiles, kTileColumns}).transpose(0, 1).contiguous();
}

}  // namespace

SweepTensors SweepTensors::of(const Tensor& w, const Tensor& visible_biases,
                              const Tensor& hidden_biases) {
  const Tensor flat = w.flatten(1);
  return {tiled(flat, visible_biases.flatten()), tiled(flat.t(), hidden_biases), visible_biases};
}

namespace {

SweepShape sweep_shape(const Tensor& visible_biases, const Tensor& x, const Tensor& inputs) {
  TORCH_CHECK(x.dim() == 2 && inputs.dim() == 2 && visible_biases.size(0) == x.size(1),
              "isinglass operator: x must be [B, D], inputs [B, H], visible_biases [D] or [D, K]");
  const int columns = visible_biases.dim() == 2 ? static_cast<int>(visible_biases.size(1)) : 1;
  return {x.size(0), x.size(1), columns, inputs.size(1)};
}

SweepPath path_pointers(const PathTensors& path, const Tensor& x, const SweepShape& shape) {
  if (!path.beta.defined()) return {};
  const int64_t betas = path.beta.numel();
  TORCH_CHECK(betas == 1 || betas == shape.chains, "isinglass operator: beta must be [1] or [B]");
  check(path.beta, x, torch::kFloat64, betas, "beta");
  check(path.logits, x, torch::kFloat32, shape.visible(), "logits");
  return {data<double>(path.beta), betas, data<float>(path.logits)};
}

}  // namespace

void sweep_hidden(const SweepTensors& w, int64_t steps, const Tensor& rng, const Tensor& chain_ids,
                  Tensor& x, Tensor& inputs, const Tensor& energy, SweepScratch& scratch,
                  StepBuffers& counts, const PathTensors& path, const Tensor& held) {
  const SweepShape shape = sweep_shape(w.visible_biases, x, inputs);
  const auto check_tiles = [&](const Tensor& t, int64_t units, int64_t columns, const char* name) {
    check(t, x, torch::kFloat32, tile_count(columns) * tile_rows(units) * kTileColumns, name);
  };
  check(x, x, torch::kUInt8, x.numel(), "x");
  check_tiles(w.to_visible, shape.hidden, shape.visible(), "to_visible");
  check_tiles(w.to_hidden, shape.visible(), shape.hidden, "to_hidden");
  check(w.visible_biases, x, torch::kFloat32, shape.visible(), "visible_biases");
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, shape.chains, "chain_ids");
  check(inputs, x, torch::kFloat64, shape.chains * shape.hidden, "inputs");
  if (energy.defined()) check(energy, x, torch::kFloat64, shape.chains, "energy");
  if (held.defined()) check(held, x, torch::kBool, x.numel(), "held");
  const SweepWeights weights{data<float>(w.to_visible), data<float>(w.to_hidden),
                             data<float>(w.visible_biases)};
  const SweepChains chains{
      data<int64_t>(rng),
      data<int64_t>(chain_ids),
      data<uint8_t>(x),
      data<double>(inputs),
      data<double>(energy),
      scratch.visible_inputs.numbers<float>(x, shape.chains * shape.visible()),
      count_pointers(counts, x, shape.chains),
      scratch.words.numbers<uint32_t>(x, x.is_cuda() ? cuda::sweep_words(shape) : 0),
      path_pointers(path, x, shape),
      data<bool>(held)};
  run_twin(x, cpu::sweep_hidden, cuda::sweep_hidden, shape, weights, steps, chains);
}

void free_energies(const Tensor& visible_biases, const PathTensors& path, const Tensor& x,
                   const Tensor& inputs, Tensor& energy) {
  const SweepShape shape = sweep_shape(visible_biases, x, inputs);
  check(x, x, torch::kUInt8, x.numel(), "x");
  check(visible_biases, x, torch::kFloat32, shape.visible(), "visible_biases");
  check(inputs, x, torch::kFloat64, shape.chains * shape.hidden, "inputs");
  check(energy, x, torch::kFloat64, shape.chains, "energy");
  const PathStates states{data<uint8_t>(x), data<double>(inputs), data<double>(energy)};
  run_twin(x, cpu::free_energies, cuda::free_energies, shape, data<float>(visible_biases),
           path_pointers(path, x, shape), states);
}

void energies_at_adjacent_rungs(const Tensor& visible_biases, const Tensor& logits,
                                const Tensor& rung_beta, const MeasuredPairs& measured,
                                const Tensor& rng, const Tensor& x, const Tensor& inputs,
                                RungChainTensors& at) {
  const SweepShape shape = sweep_shape(visible_biases, x, inputs);
  const int64_t rungs = rung_beta.numel();
  TORCH_CHECK(rungs >= 2 && shape.chains % rungs == 0,
              "isinglass operator: the chains must form ladders of 2 or more rungs");
  check(x, x, torch::kUInt8, x.numel(), "x");
  check(visible_biases, x, torch::kFloat32, shape.visible(), "visible_biases");
  check(logits, x, torch::kFloat32, shape.visible(), "logits");
  check(rung_beta, x, torch::kFloat64, rungs, "rung_beta");
  check(at.chain, x, torch::kInt64, shape.chains, "chain");
  check(inputs, x, torch::kFloat64, shape.chains * shape.hidden, "inputs");
  check(at.energy, x, torch::kFloat64, shape.chains, "energy");
  check(at.below, x, torch::kFloat64, shape.chains, "below");
  check(at.above, x, torch::kFloat64, shape.chains, "above");
  check(rng, x, torch::kInt64, 2, "rng");
  const AdjacentRungs beside{rungs,
                             data<double>(rung_beta),
                             data<float>(logits),
                             data<int64_t>(at.chain),
                             data<uint8_t>(x),
                             data<double>(inputs),
                             data<double>(at.energy),
                             data<double>(at.below),
                             data<double>(at.above),
                             measured,
                             data<int64_t>(rng)};
  run_twin(x, cpu::energies_at_adjacent_rungs, cuda::energies_at_adjacent_rungs, shape,
           data<float>(visible_biases), beside);
}

}  // namespace isinglass::ops
