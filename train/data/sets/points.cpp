// Built-in points in the plane for score matching, whose product has two modes ("Follow Hamiltonian
// Leader", figure 8, after Du et al. 2023, "Reduce, reuse, recycle"). One set has eight normal
// modes of standard deviation .03 on the circle of radius ½; the other is uniform on the strip |x|
// ≤ .1, |y| ≤ 1. The random numbers are Philox's (purpose kPoints), so that the sets are the same
// everywhere.
#include <cmath>

#include "kernels/random/normal.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

constexpr int64_t kPoints = 20000;

template <class Draw>
Dataset points_of(const char* source, Draw draw) {
  Dataset data;
  data.values = PixelValues::kReal;
  data.train = torch::empty({kPoints, 2}, torch::kFloat32);
  data.height = 1;
  data.width = 2;
  data.source = source;
  float* point = data.train.data_ptr<float>();
  for (int64_t i = 0; i < kPoints; ++i, point += 2) {
    const auto [x, y] = draw(PhiloxStream{0, static_cast<uint32_t>(i), 0});
    point[0] = static_cast<float>(x), point[1] = static_cast<float>(y);
  }
  return data;
}

Dataset ring_points(const std::filesystem::path&) {
  return points_of("built in: eight modes on a circle", [](const PhiloxStream& draws) {
    const double angle = M_PI / 4 * draws.below(8, Purpose::kPoints, 0);
    const auto noise = [&](uint32_t i) {
      return 0.03 * standard_normal(draws, Purpose::kPoints, i);
    };
    return std::pair(0.5 * std::cos(angle) + noise(1), 0.5 * std::sin(angle) + noise(2));
  });
}

Dataset strip_points(const std::filesystem::path&) {
  return points_of("built in: a strip", [](const PhiloxStream& draws) {
    const auto uniform = [&](uint32_t i) { return 2 * draws.uniform(Purpose::kPoints, i) - 1; };
    return std::pair(0.1 * uniform(0), uniform(1));
  });
}

}  // namespace

std::vector<DatasetEntry> point_datasets() {
  const auto entry = [](const char* name, Dataset (*read)(const std::filesystem::path&)) {
    return DatasetEntry{.name = name,
                        .read = read,
                        .points = true,
                        .sizes = fmt::format("{} points of the plane", kPoints),
                        .values = "real",
                        .source = "drawn by the program",
                        .built_in = true};
  };
  return {entry("ring-points", ring_points), entry("strip-points", strip_points)};
}

}  // namespace isinglass
