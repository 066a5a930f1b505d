// Precision matrices P of normal distributions: whole, or as their diagonal.
#pragma once

#include "models/parameter_file.h"

namespace isinglass {

// Takes the tensor 'precision' as float64, of shape {…, D, D} or, as a diagonal, {…, D}, where
// `batch` is what stands before; Error naming it unless each is symmetric positive definite.
torch::Tensor read_precision(ParameterReader& reader, const std::vector<int64_t>& batch,
                             int64_t sites);

// P d for differences [B, D] with P [D, D] or [D]; or [C, B, D] with P [C, D, D] or [C, D].
torch::Tensor times_precision(const torch::Tensor& precision, const torch::Tensor& difference);

// log det P of each of the C precisions [C, D, D] or [C, D].
torch::Tensor log_determinants(const torch::Tensor& precisions);

}  // namespace isinglass
