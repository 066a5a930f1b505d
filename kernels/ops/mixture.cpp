// Implements mix() on tensors of float32 and float64.
#include "kernels/ops/mixture.h"

#include "kernels/ops/check.h"
#include "kernels/tempering/mixture.h"

namespace isinglass::ops {
namespace {

template <class T>
void mix_rows(const Tensor& start, const Tensor& target, const Tensor& beta, const Tensor& out) {
  const int64_t rows = target.size(0), columns = target.numel() / rows;
  const bool one_start = start.defined() && start.numel() != target.numel();
  const Mixture<T> mixture{rows,      columns,         beta.numel(),       data<T>(start),
                           one_start, data<T>(target), data<double>(beta), data<T>(out)};
  run_twin(target, [](auto... a) { cpu::mix(a...); }, [](auto... a) { cuda::mix(a...); }, mixture);
}

}  // namespace

void mix(const Tensor& start, const Tensor& target, const Tensor& beta, Tensor& out) {
  const int64_t rows = target.size(0);
  TORCH_CHECK(rows % beta.numel() == 0,
              "isinglass operator: the number of betas does not divide the ", rows, " states");
  if (target.numel() == 0) return;
  const torch::ScalarType type = target.scalar_type();
  TORCH_CHECK(type == torch::kFloat32 || type == torch::kFloat64,
              "isinglass operator: the mixed tensors must be float32 or float64");
  const Tensor from = target.contiguous();
  check(beta, target, torch::kFloat64, beta.numel(), "beta");
  if (start.defined()) {
    const bool one = start.numel() != target.numel();
    check(start, target, type, one ? target.numel() / rows : target.numel(), "start");
  }
  Tensor to = out.is_contiguous() ? out : torch::empty_like(from);
  check(to, target, type, target.numel(), "out");
  if (type == torch::kFloat64) {
    mix_rows<double>(start, from, beta, to);
  } else {
    mix_rows<float>(start, from, beta, to);
  }
  if (!to.is_same(out)) out.copy_(to);
}

}  // namespace isinglass::ops
