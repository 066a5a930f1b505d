// Where a network of grey levels begins (models/network/resnet.h), in place of torch.nn's rules, by which
// an embedding of K levels is white noise of up to 1/√K: levels beside each other are strangers, and
// after eight blocks next to nothing is left of it.
//
//   rows of proj    a √(2/H) cos(π p (v + ½)/K) / √p, p = 1 … P, H = (1/P) Σ 1/p: as DCT-II, with a
//                   root mean square of a
//   proj2           weights N(0, 1/n), biases N(0, 1): channels that differ by what one pixel cannot move
//   blocks          weights N(0, g²/n), g² = 1/E[swish(z)²]; of conv2 r g, biases N(0, b²)
//   energy_linear   torch.nn's, weights times the positions that are left, for a sum over them; the bias plus
//                   the entropy of the base distribution, so that energies begin near 0, to which l2 pulls
//
// n: inputs of an output. With a small a the network is close to linear in any one pixel, which is what a
// proposal by its gradient takes it for; a larger one is steep before samplers can follow.
#pragma once

#include <cstdint>

#include "io/torch.h"

namespace isinglass {

// `parameters` by their names in the state dict; base: frequencies [D, K], or undefined. Draws from LibTorch's
// generator.
void start_smoothly(torch::OrderedDict<std::string, torch::Tensor> parameters, int64_t positions,
                    const torch::Tensor& base);

}  // namespace isinglass
