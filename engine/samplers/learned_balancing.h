// Balancing functions g_θ(t) = t·g_θ(1/t) with parameters (docs/concepts/samplers.md; Sansone 2022,
// "Local self-balancing MCMC in discrete spaces", §3.1), as log g at t = e^d:
//
//   mixture   g = Σ_j softmax(θ)_j g_j over the functions of balancing.h
//   network   g(t) = ½h(t) + ½t·h(1/t), h = softplus(z(log t)):
//             log g = logaddexp(log h(d), d + log h(−d)) − log 2
//   z of the network:   Σ_k a_k relu(w_k d + b_k) + c, 10 units
//   z of the monotonic: min over 20 blocks of max over their 20 units of e^{v_kj} d + b_kj (Sill
//                       1997, "Monotonic networks"): never falls with d
//
// Everything stays in the log domain: finite for every finite d and θ of moderate size.
#pragma once

#include "io/torch.h"

namespace isinglass {

enum class BalancingForm { kMixture, kNetwork, kMonotonic };

// θ to start from, float64 [P] on the CPU. The mixture starts with equal weights, the networks near
// z = d/2; without a random number.
torch::Tensor initial_balancing(BalancingForm form);

// log g_θ at t = e^d, elementwise: d float64 [B, D], without a gradient; differentiable in θ
// float64 [P] on d's device.
torch::Tensor log_balancing(BalancingForm form, const torch::Tensor& theta, const torch::Tensor& d);

}  // namespace isinglass
