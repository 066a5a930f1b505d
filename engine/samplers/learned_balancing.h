// Parametric balancing functions g_θ(t) = t·g_θ(1/t) for the self-balancing samplers
// (docs/concepts/samplers.md; Sansone 2022, "Local self-balancing MCMC in discrete spaces", §3.1),
// computed as log g at t = e^d:
//
//   mixture   g = Σ_j softmax(θ)_j g_j over the functions of balancing.h (proposition 3.1)
//   network   g(t) = ½h(t) + ½t·h(1/t), h = softplus(z(log t)) (proposition 3.2):
//             log g = logaddexp(log h(d), d + log h(−d)) − log 2
//   z of the network:           Σ_k a_k relu(w_k d + b_k) + c, 10 units
//   z of the monotonic network: min over 20 blocks of max over their 20 units of e^{v_kj} d + b_kj
//                               (Sill 1997, "Monotonic networks"), which never falls with d
//
// All values stay in the log domain and are finite for every finite d and θ of moderate size.
#pragma once

#include "io/torch.h"

namespace isinglass {

enum class BalancingForm { kMixture, kNetwork, kMonotonic };

// Returns the initial θ, float64 [P] on the CPU. The mixture starts with equal weights, the
// networks near z = d/2. No random number is used.
torch::Tensor initial_balancing(BalancingForm form);

// Returns log g_θ at t = e^d, elementwise, for d float64 [B, D] without a gradient. The result is
// differentiable in θ, float64 [P] on the device of d.
torch::Tensor log_balancing(BalancingForm form, const torch::Tensor& theta, const torch::Tensor& d);

}  // namespace isinglass
