// Implements the RBM's free energy, gradients, differences, sweeps and exact samples.
#include "models/network/rbm.h"

#include <algorithm>
#include <array>

#include "kernels/ops/random.h"
#include "kernels/ops/scratch.h"
#include "models/network/softplus_units.h"
#include "models/parameter_file.h"
#include "models/registry.h"
#include "models/single_precision.h"

namespace isinglass {
namespace {

constexpr int64_t kMostEnumerated = 20;     // hidden units for which all states are enumerated
constexpr int64_t kStatesAtOnce = 1 << 14;  // hidden states in memory at a time

}  // namespace

RbmModel::RbmModel(const torch::Tensor& w, const torch::Tensor& b_v, const torch::Tensor& b_h)
    : w_(register_parameter("W", w.to(torch::kFloat32).clone())),
      b_v_(register_parameter("b_v", b_v.to(torch::kFloat32).clone())),
      b_h_(register_parameter("b_h", b_h.to(torch::kFloat32).clone())) {}

std::shared_ptr<RbmModel> RbmModel::fresh(int64_t visible, int64_t hidden, int64_t categories,
                                          const torch::Tensor& base_mean) {
  std::vector<int64_t> size = {hidden, visible};
  if (categories > 0) size.push_back(categories);
  const torch::Tensor w = 0.01 * torch::randn(size, torch::kFloat32);
  const torch::Tensor b_v = !base_mean.defined() ? torch::zeros_like(w[0])
                            : categories > 0     ? torch::log(base_mean)
                                                 : torch::logit(base_mean);
  return std::make_shared<RbmModel>(w, b_v, torch::zeros({hidden}, torch::kFloat32));
}

StateSpace RbmModel::space() const {
  if (categorical()) return {StateKind::kCategorical, w_.size(1), w_.size(2)};
  return {StateKind::kBinary, w_.size(1), 2};
}

torch::Tensor RbmModel::visible(const torch::Tensor& x) const {
  return relaxed(x).flatten(1);
}

torch::Tensor RbmModel::hidden_inputs(const torch::Tensor& v) const {
  return torch::addmm(b_h_, v, w_.flatten(1).t());
}

torch::Tensor RbmModel::hidden_means(const torch::Tensor& x) const {
  torch::NoGradGuard no_grad;
  return torch::sigmoid(hidden_inputs(visible(x)));
}

torch::Tensor RbmModel::visible_inputs(const torch::Tensor& h) const {
  const torch::Tensor flat = torch::addmm(b_v_.flatten(), h, w_.flatten(1));
  return categorical() ? flat.view({h.size(0), w_.size(1), w_.size(2)}) : flat;
}

torch::Tensor RbmModel::free_energy(const torch::Tensor& v, const torch::Tensor& inputs) const {
  return -v.to(torch::kFloat64).matmul(b_v_.flatten().to(torch::kFloat64)) -
         torch::softplus(inputs).sum(1, false, torch::kFloat64);
}

torch::Tensor RbmModel::energy(const torch::Tensor& x) {
  const torch::Tensor v = visible(x);
  return free_energy(v, hidden_inputs(v));
}

void RbmModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  if (moves_inputs(x)) return evaluate_states({}, {}, x, /*gradient=*/false, out);
  torch::NoGradGuard no_grad;
  const torch::Tensor v = visible(x), inputs = hidden_inputs(v);
  store(out.energy, free_energy(v, inputs));
  keep_inputs(x, inputs, out);
}

void RbmModel::keep_inputs(const torch::Tensor& x, const torch::Tensor& inputs,
                           Evaluation& out) const {
  if (x.is_floating_point()) return;
  out.cache.resize(1);
  store(out.cache[0], inputs.to(torch::kFloat64));
}

// Computes ∂U/∂v = −b_v − σ(b_h + W v)ᵀ W.
void RbmModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  if (moves_inputs(x)) return evaluate_states({}, {}, x, /*gradient=*/true, out);
  torch::NoGradGuard no_grad;
  const torch::Tensor v = visible(x), inputs = hidden_inputs(v);
  store(out.energy, free_energy(v, inputs));
  out.gradient = visible_inputs(torch::sigmoid(inputs)).neg_();
  keep_inputs(x, inputs, out);
}

void RbmModel::evaluate_moved(const torch::Tensor& x, const Evaluation& at_x,
                              const torch::Tensor& y, bool gradient, Evaluation& out) {
  if (!moves_inputs(y)) return EnergyModel::evaluate_moved(x, at_x, y, gradient, out);
  evaluate_states(x, at_x.cache.at(0), y, gradient, out);
}

void RbmModel::evaluate_states(const torch::Tensor& x, const torch::Tensor& inputs_at_x,
                               const torch::Tensor& y, bool gradient, Evaluation& out) {
  torch::NoGradGuard no_grad;
  const auto options = torch::TensorOptions(y.device());
  const std::vector<int64_t> shape = {y.size(0), b_h_.size(0)};
  if (!out.energy.defined()) out.energy = torch::empty({y.size(0)}, options.dtype(torch::kFloat64));
  if (out.cache.empty()) out.cache = {torch::empty(shape, options.dtype(torch::kFloat64))};
  const torch::Tensor on = gradient ? ops::scratch_tensor<float>(on_, shape, y) : torch::Tensor();
  ops::move_hidden({by_visible(), b_v_, b_h_}, x, inputs_at_x, y.contiguous(), out.cache[0],
                   out.energy, on);
  if (!gradient) return;
  if (!out.gradient.defined()) out.gradient = torch::empty(y.sizes(), on.options());
  at::addmm_out(out.gradient, b_v_, on, w_, /*beta=*/-1, /*alpha=*/-1);
}

const torch::Tensor& RbmModel::by_visible() {
  return by_visible_.get(std::array{w_}, [&] { return w_.detach().t().contiguous(); });
}

// Computes Δ_i = U(v) − U(v with v_i flipped), where f = 1 − 2v is each unit's change by its flip:
//   Δ_i = f_i b_i + Σ_h [softplus(a_h + f_i W_hi) − softplus(a_h)]
torch::Tensor RbmModel::flip_differences(const torch::Tensor& v,
                                         const torch::Tensor& inputs) const {
  const torch::Tensor flip = 1 - 2 * v;
  return flip * b_v_ + softplus_changes(inputs, flip, w_);
}

// Computes Δ_ik = b_ik − b_{i,x_i} + Σ_h [softplus(a_h + W_hik − W_{hi,x_i}) − softplus(a_h)].
torch::Tensor RbmModel::value_differences(const torch::Tensor& x,
                                          const torch::Tensor& inputs) const {
  const int64_t sites = w_.size(1), values = w_.size(2);
  const torch::Tensor weight = w_.permute({1, 2, 0}).contiguous();  // [D, K, H]
  const torch::Tensor site = torch::arange(sites, inputs.options().dtype(torch::kInt64));
  const torch::Tensor own = x.to(torch::kInt64);
  torch::Tensor table = (b_v_ - b_v_.index({site, own}).unsqueeze(2)).to(torch::kFloat64);
  const int64_t chains = std::max<int64_t>(1, kSoftplusTerms / (sites * w_.size(0)));
  for (int64_t first = 0; first < x.size(0); first += chains) {
    const torch::Tensor before = inputs.slice(0, first, first + chains).unsqueeze(1);
    const torch::Tensor left = before - weight.index({site, own.slice(0, first, first + chains)});
    const torch::Tensor none = torch::softplus(before).sum(2, false, torch::kFloat64);
    for (int64_t k = 0; k < values; ++k) {
      const torch::Tensor after = torch::softplus(left + weight.select(1, k));
      table.slice(0, first, first + chains)
          .select(2, k)
          .add_(after.sum(2, false, torch::kFloat64) - none);
    }
  }
  // The current value's entry is exactly 0, not the rounding error of a − W + W.
  return table.scatter_(2, own.unsqueeze(2), 0.0);
}

void RbmModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  torch::NoGradGuard no_grad;
  const torch::Tensor v = visible(x), inputs = hidden_inputs(v);
  store(out.energy, free_energy(v, inputs));
  const torch::Tensor table =
      categorical() ? value_differences(x, inputs) : flip_differences(v, inputs);
  store(out.differences, table.to(torch::kFloat32));
}

const ops::SweepTensors& RbmModel::sweep_weights() {
  return sweep_weights_.get(std::array{w_, b_v_, b_h_}, [&] {
    return ops::SweepTensors::of(w_.detach(), b_v_.detach(), b_h_.detach());
  });
}

int64_t RbmModel::gibbs_sweeps(int64_t steps, const torch::Tensor& rng,
                               const torch::Tensor& chain_ids, torch::Tensor& x,
                               Evaluation& current, ops::StepBuffers& counts) {
  return sweep(steps, rng, chain_ids, x, current.cache.at(0), current.energy, counts, {});
}

int64_t RbmModel::sweep(int64_t steps, const torch::Tensor& rng, const torch::Tensor& chain_ids,
                        torch::Tensor& x, torch::Tensor& inputs, const torch::Tensor& energy,
                        ops::StepBuffers& counts, const ops::PathTensors& path,
                        const torch::Tensor& held) {
  torch::NoGradGuard no_grad;
  ops::sweep_hidden(sweep_weights(), steps, rng, chain_ids, x, inputs, energy, sweep_scratch_,
                    counts, path, held);
  return 2 * steps;
}

bool RbmModel::has_exact_samples() const {
  return !categorical() && hidden() <= kMostEnumerated;
}

// Uses log π(h) = b_h·h + Σ_i softplus(b_v + Wᵀh)_i − log Z.
torch::Tensor RbmModel::exact_samples(const torch::Tensor& chain_ids, uint64_t seed) const {
  TORCH_CHECK(has_exact_samples(), "this RBM has no exact samples");
  torch::NoGradGuard no_grad;
  const auto bits = torch::arange(hidden(), w_.options().dtype(torch::kInt64));
  const auto states = [&](const torch::Tensor& number) {
    return number.unsqueeze(1).bitwise_right_shift(bits).bitwise_and(1).to(torch::kFloat32);
  };
  const int64_t count = int64_t{1} << hidden();
  std::vector<torch::Tensor> log_p;
  for (int64_t first = 0; first < count; first += kStatesAtOnce) {
    const auto number = torch::arange(first, std::min(first + kStatesAtOnce, count),
                                      w_.options().dtype(torch::kInt64));
    const torch::Tensor h = states(number);
    log_p.push_back(torch::softplus(visible_inputs(h)).sum(1, false, torch::kFloat64) +
                    h.to(torch::kFloat64).mv(b_h_.to(torch::kFloat64)));
  }
  const torch::Tensor cumulative = torch::softmax(torch::cat(log_p), 0).cumsum(0);
  const torch::Tensor ids = chain_ids.to(torch::kCPU);
  torch::Tensor u = torch::empty({ids.numel()}, torch::kFloat64);
  for (int64_t c = 0; c < ids.numel(); ++c) {
    // Step 1 has random numbers other than step 0, which the sites use below.
    const PhiloxStream draws{seed, static_cast<uint32_t>(ids[c].item<int64_t>()), 1};
    u[c] = draws.uniform(Purpose::kInitialState);
  }
  const torch::Tensor last = cumulative[count - 1];
  const torch::Tensor drawn =
      torch::searchsorted(cumulative, u.to(cumulative.device()) * last, false, /*right=*/true)
          .clamp_max(count - 1);
  torch::Tensor x =
      torch::empty({ids.numel(), w_.size(1)}, chain_ids.options().dtype(torch::kUInt8));
  ops::bernoulli_rows(torch::sigmoid(visible_inputs(states(drawn))), chain_ids,
                      static_cast<int64_t>(seed), 0, Purpose::kInitialState, x);
  return x;
}

namespace {

std::shared_ptr<EnergyModel> load_rbm(const ModelOptions& options) {
  ParameterReader reader = options.reader();
  const bool categorical = reader.rank("W") > 2 && reader.rank("b_v") > 1;
  std::vector<int64_t> shape(categorical ? 3 : 2, -1);
  if (!categorical && reader.rank("b_v") == 1 && reader.rank("b_h") == 1) {
    // The lengths of the biases show which side of W is which, so that a transposed W is the tensor
    // that the error names.
    const int64_t visible = reader.peek("b_v", {-1}).size(0);
    const int64_t hidden = reader.peek("b_h", {-1}).size(0);
    const torch::Tensor given = reader.peek("W", shape);
    if (given.size(0) == visible && given.size(1) == hidden) shape = {hidden, visible};
  }
  SingleReader singles(reader);
  const torch::Tensor w = singles.take("W", shape);
  shape.erase(shape.begin());
  for (size_t i = 0; i < shape.size(); ++i) shape[i] = w.size(static_cast<int64_t>(i) + 1);
  const torch::Tensor b_v = singles.take("b_v", shape), b_h = singles.take("b_h", {w.size(0)});
  reader.finish();
  singles.warn();
  if (categorical) check_categories(reader, "b_v", b_v);
  return std::make_shared<RbmModel>(w, b_v, b_h);
}

std::shared_ptr<EnergyModel> fresh_rbm(const NewModelOptions& options) {
  return RbmModel::fresh(options.image_height * options.image_width, options.hidden,
                         options.categories, options.base_mean);
}

}  // namespace

std::vector<ModelEntry> rbm_models() {
  return {{.name = "rbm",
           .energy = "-b_v.v - sum_h softplus(b_h + W_h.v)",
           .parameters = "W [H,D], b_v [D], b_h [H]; categorical: W [H,D,K], b_v [D,K]",
           .state_kinds = "binary, categorical",
           .gradient = true,
           .load = load_rbm,
           .fresh = fresh_rbm,
           .categorical = true}};
}

}  // namespace isinglass
