// Implements the tensor layer of swish: it checks tensors, runs the kernels of swish.h.
#include "kernels/ops/swish.h"

#include "kernels/network/swish.h"
#include "kernels/ops/check.h"

namespace isinglass::ops {
namespace {

// Returns true if both tensors store their numbers in the same order. Strides alone do not decide,
// because those of dimensions of size 1 are arbitrary.
bool same_layout(const Tensor& t, const Tensor& like) {
  if (t.strides() == like.strides()) return true;
  const auto both = [&](at::MemoryFormat format) {
    return t.is_contiguous(format) && like.is_contiguous(format);
  };
  return both(at::MemoryFormat::Contiguous) ||
         (t.dim() == 4 && both(at::MemoryFormat::ChannelsLast));
}

void check_like(const Tensor& t, const Tensor& like, const char* name) {
  TORCH_CHECK(t.defined() && t.sizes() == like.sizes() && same_layout(t, like) &&
                  t.device() == like.device(),
              "isinglass operator: ", name, " must have the shape, layout and device of the ",
              "first tensor: sizes ", t.sizes(), ", strides ", t.strides(), ", not ", like.sizes(),
              " and ", like.strides());
}

bool float32(const Tensor& t) {
  return !t.defined() || t.scalar_type() == torch::kFloat32;
}

// Checks the dtype of slopes; returns true for float32 and false for bfloat16.
bool checked_float32(const Tensor& t) {
  TORCH_CHECK(float32(t) || t.scalar_type() == torch::kBFloat16,
              "isinglass operator: the slopes of swish must be float32 or bfloat16");
  return float32(t);
}

// Throws unless t is dense. The kernels process numbers in memory order, whatever the layout, which
// must be the same for all tensors.
void check_first(const Tensor& t) {
  TORCH_CHECK(t.is_non_overlapping_and_dense(), "isinglass operator: swish takes dense tensors");
}

template <class T>
T* numbers(const Tensor& t) {
  return t.defined() ? static_cast<T*>(t.mutable_data_ptr()) : nullptr;
}

}  // namespace

void swish(const Tensor& a, const Tensor& b, Tensor& y, Tensor& slope) {
  check_first(a);
  if (b.defined()) check_like(b, a, "b");
  check_like(y, a, "y");
  check_like(slope, a, "slope");
  TORCH_CHECK(float32(a) && float32(b) && float32(y),
              "isinglass operator: swish takes and returns float32");
  const auto run = [&]<class T>(T) {
    run_twin(
        a, [](auto... a) { cpu::swish(a...); }, [](auto... a) { cuda::swish(a...); }, a.numel(),
        numbers<const float>(a), numbers<const float>(b), numbers<float>(y), numbers<T>(slope));
  };
  checked_float32(slope) ? run(float{}) : run(Bfloat16{});
}

void swish_backward(const Tensor& g, const Tensor& h, const Tensor& slope, Tensor& out) {
  check_first(g);
  if (h.defined()) check_like(h, g, "h");
  check_like(slope, g, "slope");
  check_like(out, g, "out");
  for (const Tensor& t : {g, h, out}) {
    TORCH_CHECK(!t.defined() || t.scalar_type() == slope.scalar_type(),
                "isinglass operator: the incoming gradient must have the dtype of the slopes");
  }
  const auto run = [&]<class T>(T) {
    run_twin(
        g, [](auto... a) { cpu::swish_backward(a...); },
        [](auto... a) { cuda::swish_backward(a...); }, g.numel(), numbers<const T>(g),
        numbers<const T>(h), numbers<const T>(slope), numbers<T>(out));
  };
  checked_float32(slope) ? run(float{}) : run(Bfloat16{});
}

}  // namespace isinglass::ops
