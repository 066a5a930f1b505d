// Implements the parts that all objectives share.
#include "train/objectives/objective.h"

#include "io/error.h"
#include "io/picture.h"
#include "train/checkpoint.h"

namespace isinglass {

BatchShare::BatchShare(const Ranks& ranks, int64_t batch) {
  require_option(batch >= ranks.size(), "batch", batch, "{} ranks need at least one image each",
                 ranks.size());
  own = ranks.shard(batch);
  most = (batch + ranks.size() - 1) / ranks.size();
  weight = static_cast<double>(own.count) / static_cast<double>(batch);
}

void draw_images(const std::filesystem::path& file, const torch::Tensor& images, int64_t height,
                 int64_t width) {
  if (height == 1) return;  // these points are not images
  write_picture_grid(file, images.slice(0, 0, kPictures).clamp(0, 1), height, width,
                     kPictureColumns);
}

void Objective::load_state(const NamedTensors& saved, const std::string& file) {
  copy_tensors(saved, saved_state(), file);
}

}  // namespace isinglass
