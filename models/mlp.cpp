// See mlp.h.
#include "models/mlp.h"

namespace isinglass {

MlpModel::MlpModel(const StateSpace& space, int64_t outputs, int64_t label)
    : space_(space), label_(label) {
  const int64_t inputs = space.sites * (space.one_hot() ? space.categories : 1);
  const int64_t widths[] = {inputs, kWidth, kWidth, kWidth, outputs};
  for (int i = 0; i < 4; ++i) {
    layers_.push_back(
        register_module(std::to_string(2 * i), torch::nn::Linear(widths[i], widths[i + 1])));
  }
}

FlopCounts MlpModel::flops() const {
  const auto product = [](const torch::nn::Linear& layer) {
    return 2.0 * static_cast<double>(layer->weight.numel());
  };
  double others = 0;
  for (size_t i = 1; i < layers_.size(); ++i) others += product(layers_[i]);
  return FlopCounts::of_network(product(layers_[0]), others);
}

torch::Tensor MlpModel::logits(const torch::Tensor& x) {
  torch::Tensor h = relaxed(x).flatten(1);
  for (size_t i = 0; i + 1 < layers_.size(); ++i) h = torch::silu(layers_[i]->forward(h));
  return layers_.back()->forward(h);
}

torch::Tensor MlpModel::energy(const torch::Tensor& x) {
  return -logits(x).select(1, label_);
}

}  // namespace isinglass
