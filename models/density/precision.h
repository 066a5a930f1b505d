// Reads precision matrices P of normal distributions, given in full or as diagonals, and computes
// with them.
#pragma once

#include "models/parameter_file.h"

namespace isinglass {

// Takes the tensor 'precision' as float64. Its shape is `batch` followed by {D, D} or, for
// diagonals, by {D}. Throws Error naming the tensor unless each matrix is symmetric positive
// definite.
torch::Tensor read_precision(ParameterReader& reader, const std::vector<int64_t>& batch,
                             int64_t sites);

// Returns P d for differences d [B, D] with P [D, D] or [D], or for d [C, B, D] with P [C, D, D] or
// [C, D].
torch::Tensor times_precision(const torch::Tensor& precision, const torch::Tensor& difference);

// Returns log det P, [C], for C precisions [C, D, D] or [C, D].
torch::Tensor log_determinants(const torch::Tensor& precisions);

}  // namespace isinglass
