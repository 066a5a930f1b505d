// Computes 3×3 convolutions of stride 1, with zeros around the map, by Winograd's algorithm
// F(4×4, 3×3) (Winograd 1980; Lavin & Gray 2016, arXiv:1509.09308), on a CPU:
//
//   out_o = Aᵀ [ Σ_i (G w_{o,i} Gᵀ) ⊙ (Bᵀ patch_i B) ] A + b_o
//
// for tiles of 4×4 outputs, each from a patch of 6×6 inputs; Aᵀ, G and Bᵀ are constant matrices. A
// tile takes 36 products a pair of channels in place of 144, less what the tiles at the lower and
// right border waste. The error is that of float32, about twice as large as with direct sums. The
// numbers of a tile are the same whatever the other tiles and the number of threads are.
//
// The gradient in the weights is F(3×3, 4×4), in which a tile of the gradient in the output takes
// the place of the weights. It has the same points, and so the same transform of patches:
//
//   ∂w_{o,i} = A₃ᵀ [ Σ_tiles (G₄ ∂tile_o G₄ᵀ) ⊙ (Bᵀ patch_i B) ] A₃
#pragma once

#include <cstdint>

namespace isinglass {

struct WinogradShape {
  int64_t chains = 0, height = 0, width = 0;
  int64_t inputs = 0, outputs = 0;  // numbers of channels, multiples of 16

  int64_t tiles_across() const { return (width + 3) / 4; }
  int64_t tiles() const { return (height + 3) / 4 * tiles_across(); }  // of a chain
};

inline constexpr int64_t kWinogradProducts = 36;

namespace cpu {

// Writes weights [36, inputs, outputs] = G w Gᵀ, summed in float64, of a layer w [outputs, inputs,
// 3, 3], contiguous. With `transposed` they are those of the gradient in the layer's input, a
// convolution of `outputs` channels to `inputs` with weights turned by 180°: [36, outputs, inputs].
void winograd_weights(int64_t outputs, int64_t inputs, const float* w, bool transposed,
                      float* weights);

// Writes out [chains, height, width, outputs], given x [chains, height, width, inputs]; bias
// [outputs] may be null.
void winograd(const WinogradShape& shape, const float* x, const float* weights, const float* bias,
              float* out);

// Writes the gradient in the weights, [outputs, inputs, 3, 3], given x [chains, height, width,
// inputs] and the gradient in the output [chains, height, width, outputs]. It is the same for any
// number of threads.
void winograd_weight_gradient(const WinogradShape& shape, const float* x, const float* at_output,
                              float* gradient);

}  // namespace cpu
}  // namespace isinglass
