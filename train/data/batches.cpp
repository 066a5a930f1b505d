// Implements training batches.
#include "train/data/batches.h"

#include <numeric>

#include "kernels/ops/random.h"

namespace isinglass {

torch::Tensor random_order(const PhiloxStream& draws, Purpose purpose, int64_t size,
                           int64_t count) {
  TORCH_INTERNAL_ASSERT(0 <= count && count <= size);
  torch::Tensor order = torch::arange(size, torch::kInt64);
  int64_t* element = order.data_ptr<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    const auto remaining = static_cast<uint32_t>(size - i);
    std::swap(element[i], element[i + draws.below(remaining, purpose, static_cast<uint32_t>(i))]);
  }
  return order.narrow(0, 0, count);
}

Batches::Batches(const Dataset& data, int64_t batch, uint64_t seed, torch::Device device)
    : pixels_(data.train.to(device).contiguous()),
      values_(data.values),
      batch_(batch),
      seed_(seed) {}

torch::Tensor Batches::images(int64_t iteration) {
  const int64_t size = pixels_.size(0);
  torch::Tensor images = torch::empty({batch_}, torch::kInt64);
  for (int64_t filled = 0; filled < batch_;) {
    const int64_t place = (iteration - 1) * batch_ + filled;
    const int64_t epoch = place / size, offset = place % size;
    if (epoch != epoch_) {
      order_ =
          random_order({seed_, 0, static_cast<uint32_t>(epoch)}, Purpose::kDataOrder, size, size);
      epoch_ = epoch;
    }
    const int64_t count = std::min(batch_ - filled, size - offset);
    images.narrow(0, filled, count).copy_(order_.narrow(0, offset, count));
    filled += count;
  }
  return images;
}

torch::Tensor Batches::states(int64_t iteration) {
  const torch::Tensor ids = images(iteration).to(pixels_.device());
  torch::Tensor states = pixels_.index_select(0, ids);
  if (values_ != PixelValues::kGrey) return states;
  const torch::Tensor probability = states.to(torch::kFloat32) / 255;
  ops::bernoulli_rows(probability, ids, static_cast<int64_t>(seed_), iteration, Purpose::kBinarise,
                      states);
  return states;
}

}  // namespace isinglass
