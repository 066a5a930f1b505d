// Small parameter, state and data files for the tests of the program.
#pragma once

#include <filesystem>

#include "io/pt/pt_file.h"
#include "io/torch.h"

namespace isinglass {

// Writes an open chain of 9 spins with uneven couplings and fields.
inline void write_ising(const std::filesystem::path& file, double first_field = 0.3) {
  torch::Tensor edges = torch::stack({torch::arange(8), torch::arange(1, 9)}, 1);
  torch::Tensor field = torch::linspace(-0.4, 0.5, 9);
  field[0] = first_field;
  write_named_tensors(
      file, {{"edges", edges}, {"coupling", torch::linspace(0.2, 0.6, 8)}, {"field", field}});
}

inline void write_potts(const std::filesystem::path& file) {
  torch::Tensor edges = torch::stack({torch::arange(4), torch::arange(1, 5)}, 1);
  write_named_tensors(file, {{"edges", edges},
                             {"coupling", torch::linspace(0.2, 0.6, 4)},
                             {"field", torch::linspace(-0.5, 0.5, 15).view({5, 3})}});
}

// Writes an RBM with 9 visible and 4 hidden units.
inline void write_rbm(const std::filesystem::path& file) {
  write_named_tensors(file, {{"W", torch::linspace(-0.5, 0.6, 36).view({4, 9})},
                             {"b_v", torch::linspace(-0.3, 0.2, 9)},
                             {"b_h", torch::linspace(-0.1, 0.3, 4)}});
}

inline void write_permutation(const std::filesystem::path& file) {
  write_named_tensors(file, {{"w", torch::linspace(-2, 2, 25).sin().view({5, 5})}});
}

inline void write_parity(const std::filesystem::path& file) {
  write_named_tensors(file, {{"u", torch::tensor(0.7f)}});
}

// Returns all 9-bit states.
inline torch::Tensor all_states() {
  const torch::Tensor numbers = torch::arange(512).unsqueeze(1);
  return numbers.bitwise_right_shift(torch::arange(9)).bitwise_and(1).to(torch::kUInt8);
}

// Returns 60 images of 3×3 pixels with a bar across one row or one column.
inline torch::Tensor bars() {
  torch::Tensor images = torch::zeros({60, 3, 3}, torch::kUInt8);
  for (int64_t i = 0; i < 60; ++i) {
    (i % 2 ? images[i].select(0, i / 2 % 3) : images[i].select(1, i / 2 % 3)).fill_(1);
  }
  return images;
}

}  // namespace isinglass
