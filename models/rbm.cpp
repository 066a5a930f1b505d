// See rbm.h.
#include "models/rbm.h"

#include <algorithm>

#include "kernels/ops/hidden.h"

namespace isinglass {
namespace {

constexpr int64_t kTerms = 1 << 22;  // softplus terms held at once, of all flips of some chains

}  // namespace

RbmModel::RbmModel(const torch::Tensor& w, const torch::Tensor& b_v, const torch::Tensor& b_h)
    : w_(register_parameter("W", w.to(torch::kFloat32).clone())),
      b_v_(register_parameter("b_v", b_v.to(torch::kFloat32).clone())),
      b_h_(register_parameter("b_h", b_h.to(torch::kFloat32).clone())) {}

std::shared_ptr<RbmModel> RbmModel::fresh(int64_t visible, int64_t hidden,
                                          const torch::Tensor& base_mean) {
  const torch::Tensor w = 0.01 * torch::randn({hidden, visible});
  const torch::Tensor b_v = base_mean.defined() ? torch::logit(base_mean) : torch::zeros({visible});
  return std::make_shared<RbmModel>(w, b_v, torch::zeros({hidden}));
}

torch::Tensor RbmModel::hidden_inputs(const torch::Tensor& v) const {
  return torch::addmm(b_h_, v, w_.t());
}

torch::Tensor RbmModel::free_energy(const torch::Tensor& v, const torch::Tensor& inputs) const {
  return -v.to(torch::kFloat64).matmul(b_v_.to(torch::kFloat64)) -
         torch::softplus(inputs).sum(1, false, torch::kFloat64);
}

torch::Tensor RbmModel::energy(const torch::Tensor& x) {
  const torch::Tensor v = relaxed(x);
  return free_energy(v, hidden_inputs(v));
}

void RbmModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  if (x.is_floating_point()) return EnergyModel::evaluate_energy(x, out);
  evaluate_states({}, {}, x, /*gradient=*/false, out);
}

// ∂U/∂v = −b_v − σ(b_h + W v)ᵀ W
void RbmModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  if (!x.is_floating_point()) return evaluate_states({}, {}, x, /*gradient=*/true, out);
  torch::NoGradGuard no_grad;
  const torch::Tensor inputs = hidden_inputs(x);
  store(out.energy, free_energy(x, inputs));
  out.gradient = torch::addmm(b_v_, torch::sigmoid(inputs), w_).neg_();
}

void RbmModel::evaluate_moved(const torch::Tensor& x, const Evaluation& at_x,
                              const torch::Tensor& y, bool gradient, Evaluation& out) {
  evaluate_states(x, at_x.cache.at(0), y, gradient, out);
}

void RbmModel::evaluate_states(const torch::Tensor& x, const torch::Tensor& inputs_at_x,
                               const torch::Tensor& y, bool gradient, Evaluation& out) {
  torch::NoGradGuard no_grad;
  const auto options = torch::TensorOptions(y.device());
  const std::vector<int64_t> shape = {y.size(0), b_h_.size(0)};
  if (!out.energy.defined()) out.energy = torch::empty({y.size(0)}, options.dtype(torch::kFloat64));
  if (out.cache.empty()) out.cache = {torch::empty(shape, options.dtype(torch::kFloat64))};
  if (gradient && (!on_.defined() || on_.sizes() != shape || on_.device() != y.device())) {
    on_ = torch::empty(shape, options.dtype(torch::kFloat32));
  }
  ops::move_hidden({by_visible(), b_v_, b_h_}, x, inputs_at_x, y.contiguous(), out.cache[0],
                   out.energy, gradient ? on_ : torch::Tensor());
  if (!gradient) return;
  if (!out.gradient.defined()) out.gradient = torch::empty(y.sizes(), on_.options());
  at::addmm_out(out.gradient, b_v_, on_, w_, /*beta=*/-1, /*alpha=*/-1);
}

const torch::Tensor& RbmModel::by_visible() {
  const auto version = static_cast<int64_t>(w_._version());
  if (version != by_visible_version_ || by_visible_.device() != w_.device()) {
    by_visible_ = w_.detach().t().contiguous();
    by_visible_version_ = version;
  }
  return by_visible_;
}

// With f = 1 − 2v the change of each unit by its flip:
//   Δ_i = U(v) − U(v with v_i flipped) = f_i b_i + Σ_h [softplus(a_h + f_i W_hi) − softplus(a_h)]
void RbmModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  torch::NoGradGuard no_grad;
  const torch::Tensor v = relaxed(x);
  const torch::Tensor inputs = hidden_inputs(v);
  store(out.energy, free_energy(v, inputs));
  const torch::Tensor flip = 1 - 2 * v, weight = w_.t().contiguous();
  torch::Tensor table = flip * b_v_;
  const int64_t chains = std::max<int64_t>(1, kTerms / w_.numel());
  for (int64_t first = 0; first < x.size(0); first += chains) {
    const torch::Tensor a = inputs.slice(0, first, first + chains).unsqueeze(1);
    const torch::Tensor moved =
        torch::addcmul(a, flip.slice(0, first, first + chains).unsqueeze(2), weight);
    const torch::Tensor terms = torch::softplus(moved).sub_(torch::softplus(a));
    table.slice(0, first, first + chains).add_(terms.sum(2, false, torch::kFloat64));
  }
  store(out.differences, table);
}

torch::Tensor RbmModel::gibbs_sweep(const torch::Tensor& v, const at::Generator& generator) const {
  torch::NoGradGuard no_grad;
  const torch::Tensor on = torch::sigmoid(hidden_inputs(relaxed(v)));
  const torch::Tensor h = torch::bernoulli(on, generator);
  return torch::bernoulli(torch::sigmoid(torch::addmm(b_v_, h, w_)), generator).to(torch::kUInt8);
}

}  // namespace isinglass
