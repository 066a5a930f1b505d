// Implements the checks of precision matrices, and products and determinants of them.
#include "models/density/precision.h"

#include "io/error.h"

namespace isinglass {
namespace {

constexpr double kAsymmetry = 1e-5;  // tolerance for float32 numbers, relative to the largest

void check_diagonal(const ParameterReader& reader, const torch::Tensor& diagonal) {
  require((diagonal > 0).all().item<bool>(),
          "{}: tensor 'precision' must be positive definite, and its diagonal holds a number that "
          "is not above 0",
          reader.source());
}

torch::Tensor checked_matrices(const ParameterReader& reader, const torch::Tensor& precision) {
  const torch::Tensor transposed = precision.transpose(-1, -2);
  const double largest = precision.abs().max().item<double>();
  require((precision - transposed).abs().max().item<double>() <= kAsymmetry * largest,
          "{}: tensor 'precision' must be symmetric", reader.source());
  const torch::Tensor symmetric = (precision + transposed) / 2;
  const torch::Tensor failed = std::get<1>(at::linalg_cholesky_ex(symmetric));
  require((failed == 0).all().item<bool>(), "{}: tensor 'precision' must be positive definite",
          reader.source());
  return symmetric;
}

}  // namespace

torch::Tensor read_precision(ParameterReader& reader, const std::vector<int64_t>& batch,
                             int64_t sites) {
  std::vector<int64_t> shape = batch;
  shape.push_back(sites);
  const bool diagonal = reader.rank("precision") == static_cast<int64_t>(shape.size());
  if (!diagonal) shape.push_back(sites);
  torch::Tensor precision = reader.real("precision", shape).to(torch::kFloat64);
  if (precision.numel() == 0) return precision;
  if (!diagonal) return checked_matrices(reader, precision);
  check_diagonal(reader, precision);
  return precision;
}

torch::Tensor times_precision(const torch::Tensor& precision, const torch::Tensor& difference) {
  return precision.dim() == difference.dim() ? difference.matmul(precision)
                                             : difference * precision.unsqueeze(-2);
}

// Uses Cholesky factors, because LibTorch's batched LU of large matrices can deadlock in MKL's
// threads.
torch::Tensor log_determinants(const torch::Tensor& precisions) {
  if (precisions.dim() == 2) return precisions.log().sum(1);
  return 2 * at::linalg_cholesky(precisions).diagonal(0, 1, 2).log().sum(1);
}

}  // namespace isinglass
