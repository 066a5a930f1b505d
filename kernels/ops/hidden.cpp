// See hidden.h.
#include "kernels/ops/hidden.h"

#include "kernels/hidden.h"
#include "kernels/ops/check.h"

namespace isinglass::ops {

void move_hidden(const HiddenTensors& w, const Tensor& x, const Tensor& inputs_at_x,
                 const Tensor& y, Tensor& inputs, Tensor& energy, const Tensor& on) {
  TORCH_CHECK(y.dim() == 2 && w.by_visible.dim() == 2 && x.defined() == inputs_at_x.defined(),
              "isinglass operator: y is [B, D], weights [D, H]; x and its inputs go together");
  const HiddenShape shape{y.size(0), y.size(1), w.by_visible.size(1)};
  const int64_t units = shape.chains * shape.hidden;
  check(y, y, torch::kUInt8, y.numel(), "y");
  check(w.by_visible, y, torch::kFloat32, shape.visible * shape.hidden, "by_visible");
  check(w.visible_biases, y, torch::kFloat32, shape.visible, "visible_biases");
  check(w.hidden_biases, y, torch::kFloat32, shape.hidden, "hidden_biases");
  if (x.defined()) {
    check(x, y, torch::kUInt8, y.numel(), "x");
    check(inputs_at_x, y, torch::kFloat64, units, "inputs_at_x");
  }
  check(inputs, y, torch::kFloat64, units, "inputs");
  check(energy, y, torch::kFloat64, shape.chains, "energy");
  if (on.defined()) check(on, y, torch::kFloat32, units, "on");
  const HiddenWeights weights{data<float>(w.by_visible), data<float>(w.visible_biases),
                              data<float>(w.hidden_biases)};
  const HiddenStart start{data<uint8_t>(x), data<double>(inputs_at_x)};
  const HiddenUnits out{data<double>(inputs), data<double>(energy), data<float>(on)};
  ISINGLASS_TWIN(y, move_hidden, shape, weights, start, data<uint8_t>(y), out);
}

namespace {

using Optional = std::optional<Tensor>;

// The operators' schemas hold plain tensors and numbers; this adapter groups them.
void move_hidden_op(const Tensor& by_visible, const Tensor& visible_biases,
                    const Tensor& hidden_biases, const Optional& x, const Optional& inputs_at_x,
                    const Tensor& y, Tensor inputs, Tensor energy, Tensor on) {
  move_hidden({by_visible, visible_biases, hidden_biases}, x.value_or(Tensor()),
              inputs_at_x.value_or(Tensor()), y, inputs, energy, on);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(isinglass, m) {
  m.def(
      "move_hidden(Tensor by_visible, Tensor visible_biases, Tensor hidden_biases, Tensor? x, "
      "Tensor? inputs_at_x, Tensor y, Tensor(a!) inputs, Tensor(b!) energy, Tensor(c!) on) -> ()");
}

// One function serves both keys: it picks the twin by its tensors' device.
TORCH_LIBRARY_IMPL(isinglass, CPU, m) {
  m.impl("move_hidden", &move_hidden_op);
}
TORCH_LIBRARY_IMPL(isinglass, CUDA, m) {
  m.impl("move_hidden", &move_hidden_op);
}

}  // namespace isinglass::ops
