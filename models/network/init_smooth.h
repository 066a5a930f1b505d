// Initial values of a network for images with K ordered values (models/network/resnet.h). They
// replace torch.nn's initialisation, by which an embedding of K levels is white noise of magnitude
// up to 1/√K: adjacent levels are then unrelated, and almost nothing of the input survives eight
// blocks.
//
//   rows of proj    a √(2/H) cos(π p (v + ½)/K) / √p, p = 1 … P, H = (1/P) Σ 1/p: a DCT-II basis
//                   with root mean square a
//   proj2           weights N(0, 1/n), biases N(0, 1): channels differ by more than one pixel can
//                   change them
//   blocks          weights N(0, g²/n), g² = 1/E[swish(z)²]; of conv2 r g; biases N(0, b²)
//   energy_linear   torch.nn's weights times the number of remaining positions, so that they sum
//                   over them; the bias is increased by the entropy of the base distribution, so
//                   that energies start near 0, to which the l2 penalty pulls them
//
// n is the number of inputs of an output. With a small a the network is nearly linear in any single
// pixel, as a gradient-based proposal assumes. A larger a gives a network that is too steep before
// samplers can follow it.
#pragma once

#include <cstdint>

#include "io/torch.h"

namespace isinglass {

// Initialises `parameters`, which have their names in the state dict. base: frequencies [D, K], or
// undefined. Draws from LibTorch's generator.
void init_smooth(torch::OrderedDict<std::string, torch::Tensor> parameters, int64_t positions,
                 const torch::Tensor& base);

}  // namespace isinglass
