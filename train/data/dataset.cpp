// Implements loading of data sets and the functions of their contents.
#include "train/data/dataset.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "io/error.h"
#include "io/pt/pt_file.h"
#include "io/sha256.h"
#include "kernels/ops/random.h"
#include "models/instances/instances.h"
#include "models/registry.h"
#include "train/data/formats/format.h"
#include "train/data/own_images.h"
#include "train/data/readers.h"

namespace isinglass {

#define ISINGLASS_DATASETS(datasets) std::vector<DatasetEntry> datasets();
#include "train/data/sets/list.inc"
#undef ISINGLASS_DATASETS

namespace {

namespace fs = std::filesystem;

const DatasetEntry* find_dataset(const std::string& name) {
  const auto& all = dataset_registry();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const DatasetEntry& entry) { return entry.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// Returns true for names such as "data/x.pt" or "./images" and for existing files, in contrast to a
// mistyped name of a data set.
bool names_a_file(const std::string& name) {
  const fs::path path = name;
  return path.has_extension() || path.has_parent_path() || fs::exists(fs::status(path));
}

void require_file(const std::string& name) {
  require(names_a_file(name),
          "unknown data set '{}'; known: {}, the path of a file ({}), or a standard target, from "
          "which states are drawn",
          name, fmt::join(nearest_first(name, dataset_names()), ", "), readable_formats());
}

void refuse_splits(const std::string& name, const SplitFiles& splits) {
  const bool validation = !splits.validation.empty();
  require_options(
      !validation && splits.test.empty(),
      "`{}` requires `dataset` to be a file of training images, but {} has its own splits",
      validation ? "validation" : "test", name);
}

// Throws Error if two splits are equal. The likelihood of a split that is a copy of another one
// would be that of the wrong images.
void require_distinct(const Dataset& data) {
  const std::pair<const char*, const torch::Tensor*> splits[] = {
      {"training", &data.train}, {"validation", &data.validation}, {"test", &data.test}};
  for (size_t a = 0; a < 3; ++a) {
    for (size_t b = a + 1; b < 3; ++b) {
      const torch::Tensor &one = *splits[a].second, &other = *splits[b].second;
      const bool same = one.defined() && other.defined() && one.numel() > 0 && one.equal(other);
      require(!same, "{}: the {} and {} images are the same", data.source, splits[a].first,
              splits[b].first);
    }
  }
}

}  // namespace

const std::vector<DatasetEntry>& dataset_registry() {
  static const std::vector<DatasetEntry> all = [] {
    std::vector<DatasetEntry> entries;
#define ISINGLASS_DATASETS(datasets) \
  for (DatasetEntry & entry : datasets()) entries.push_back(std::move(entry));
#include "train/data/sets/list.inc"
#undef ISINGLASS_DATASETS
    return entries;
  }();
  return all;
}

Dataset load_dataset(const std::string& name, const fs::path& data_dir,
                     std::optional<int64_t> levels, const SplitFiles& splits) {
  Dataset data;
  if (const DatasetEntry* entry = find_dataset(name)) {
    require(!entry->points, "data set {} holds points of the plane, not images", name);
    refuse_splits(name, splits);
    data = entry->read(data_dir);
    require_distinct(data);
  } else if (names_instance(name)) {
    refuse_splits(name, splits);
    data = draw_target_states(name);
  } else {
    require_file(name);
    data = own_images(read_own_arrays(name, splits), name, levels);
  }
  require_options(
      !levels || (data.values == PixelValues::kCategorical && data.categories == *levels),
      "`levels` requires `dataset` to be a file of images, but {} determines the values of its "
      "pixels",
      name);
  data.name = name;
  return data;
}

torch::Tensor load_labels(const std::string& name, const fs::path& data_dir) {
  const DatasetEntry* entry = find_dataset(name);
  if (entry && entry->labels) return entry->labels(data_dir);
  if (!entry && !names_instance(name)) {
    const Dataset data = load_points(name, data_dir);
    require(data.labels.defined(),
            "{} holds no classes; they are read from an array 'labels' in the same .npz or .pt "
            "file as the images",
            name);
    return data.labels;
  }
  std::vector<std::string> with_classes;
  for (const DatasetEntry& other : dataset_registry()) {
    if (other.labels) with_classes.push_back(other.name);
  }
  fail("data set '{}' has no classes; the data sets with classes are: {}", name,
       fmt::join(with_classes, ", "));
}

int64_t Dataset::white() const {
  switch (values) {
    case PixelValues::kGrey:
      return 255;
    case PixelValues::kCategorical:
      return categories - 1;
    default:
      return 1;
  }
}

StateSpace Dataset::space() const {
  const int64_t sites = train.size(1);
  switch (values) {
    case PixelValues::kCategorical:
      return {StateKind::kCategorical, sites, categories};
    case PixelValues::kReal:
      return {StateKind::kContinuous, sites};
    default:
      return {StateKind::kBinary, sites, 2};
  }
}

void require_complete(const Dataset& data, const std::string& purpose) {
  if (!data.missing.defined()) return;
  fail_options(
      "{} needs complete images, but {} of the {} values of the training images of {} are missing "
      "(NaN)",
      purpose, data.missing.sum().item<int64_t>(), data.missing.numel(), data.name);
}

Dataset as_points(Dataset images, bool every_split) {
  if (images.values == PixelValues::kReal) return images;
  require_complete(images, "a model of continuous states");
  for (torch::Tensor* split : {&images.train, &images.validation, &images.test}) {
    if (!split->defined() || (split != &images.train && !every_split)) continue;
    *split = split->to(torch::kFloat32).div_(images.white());
  }
  images.values = PixelValues::kReal;
  return images;
}

Dataset load_points(const std::string& name, const fs::path& data_dir, const SplitFiles& splits,
                    bool every_split) {
  const DatasetEntry* entry = find_dataset(name);
  if (entry && entry->points) {
    refuse_splits(name, splits);
    Dataset data = entry->read(data_dir);
    data.name = name;
    return data;
  }
  if (entry || names_instance(name)) {
    return as_points(load_dataset(name, data_dir, {}, splits), every_split);
  }
  require_file(name);
  const OwnArrays arrays = read_own_arrays(name, splits);
  return are_points(arrays) ? own_points(arrays, name)
                            : as_points(own_images(arrays, name), every_split);
}

void require_labels(const torch::Tensor& labels, int64_t images, const std::string& name) {
  require(labels.dim() == 1 && at::isIntegralType(labels.scalar_type(), /*includeBool=*/true),
          "the labels of {} are of type {} and shape [{}]; whole numbers [N] are needed", name,
          torch::toString(labels.scalar_type()), fmt::join(labels.sizes(), ", "));
  require(labels.size(0) == images, "there are {} labels for the {} training images of {}",
          labels.size(0), images, name);
  const auto least = labels.to(torch::kInt64).min().item<int64_t>();
  require(least >= 0, "a label of {} is {}; classes are whole numbers from 0", name, least);
  const auto largest = labels.to(torch::kInt64).max().item<int64_t>();
  require(largest < kMostClasses,
          "a label of {} is {}, so that the model would have {} classes; at most {} are possible, "
          "numbered from 0",
          name, largest, static_cast<double>(largest) + 1, kMostClasses);
}

void set_image_size(Dataset& data, int64_t height, int64_t width) {
  const bool own = data.height == height && data.width == width;
  require_options(own || !data.flat || height * width == data.train.size(1),
                  "`image` is {}x{}, but the images of {} have {} pixels", height, width, data.name,
                  data.train.size(1));
  require_options(own || data.flat, "`image` is {}x{}, but the images of {} are {}x{}", height,
                  width, data.name, data.height, data.width);
  data.height = height;
  data.width = width;
}

const std::vector<std::string>& dataset_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const DatasetEntry& entry : dataset_registry()) all.push_back(entry.name);
    return all;
  }();
  return names;
}

std::string data_sha256(const Dataset& data) {
  std::vector<int64_t> shape = {data.height, data.width, data.dynamic() ? 256 : 2};
  if (data.values == PixelValues::kCategorical) shape.push_back(data.categories);
  NamedTensors tensors = {{"shape", torch::tensor(shape)}};
  const std::pair<const char*, const torch::Tensor*> splits[] = {
      {"train", &data.train}, {"validation", &data.validation}, {"test", &data.test}};
  for (const auto& [name, images] : splits) {
    if (images->defined()) tensors.emplace_back(name, *images);
  }
  if (data.missing.defined()) tensors.emplace_back("missing", data.missing.to(torch::kUInt8));
  return sha256(std::move(tensors));
}

torch::Tensor binarise_once(const torch::Tensor& pixels, PixelValues values, uint64_t split) {
  if (values != PixelValues::kGrey) return pixels;
  torch::Tensor binary = torch::empty_like(pixels, torch::MemoryFormat::Contiguous);
  const torch::Tensor probability = (pixels.to(torch::kFloat32) / 255).contiguous();
  const torch::Tensor ids = torch::arange(pixels.size(0), torch::kInt64).to(pixels.device());
  ops::bernoulli_rows(probability, ids, static_cast<int64_t>(split), /*step=*/0, Purpose::kBinarise,
                      binary);
  return binary;
}

torch::Tensor clamped_mean(const Dataset& data) {
  constexpr double kEpsilon = 1e-2;
  const auto clamped = [](const torch::Tensor& frequency, int64_t values) {
    const double uniform = 1 / static_cast<double>(values);
    return frequency.nan_to_num(uniform) * (1 - 2 * kEpsilon) + 2 * kEpsilon * uniform;
  };
  // The number of known values of every pixel, float64 [D].
  torch::Tensor known =
      torch::full({data.train.size(1)}, static_cast<double>(data.train.size(0)), torch::kFloat64);
  if (data.missing.defined()) known -= data.missing.sum(0);
  if (data.values == PixelValues::kCategorical) {
    const torch::Tensor by_pixel = data.train.t().to(torch::kInt64);
    const torch::Tensor counts = torch::zeros({by_pixel.size(0), data.categories}, torch::kFloat64);
    counts.scatter_add_(1, by_pixel, torch::ones({}, torch::kFloat64).expand_as(by_pixel));
    if (data.missing.defined()) counts.select(1, 0).sub_(data.missing.sum(0));
    return clamped(counts / known.unsqueeze(1), data.categories);
  }
  const torch::Tensor full = static_cast<double>(data.white()) * known;
  const torch::Tensor mean = data.train.sum(0, /*keepdim=*/false, torch::kFloat64) / full;
  return clamped(mean, 2).to(torch::kFloat32);
}

torch::Tensor smoothed(const torch::Tensor& frequencies, double sigma) {
  const int64_t values = frequencies.size(1);
  const torch::Tensor to = torch::arange(values, torch::kFloat64), from = to.unsqueeze(1);
  torch::Tensor spread = torch::zeros({values, values}, torch::kFloat64);  // [from, to]
  for (const torch::Tensor& image :
       {to, -1 - to, 2 * static_cast<double>(values) - 1 - to}) {  // itself and both mirror images
    spread += torch::exp(-0.5 * torch::square((image - from) / sigma));
  }
  return frequencies.to(torch::kFloat64).matmul(spread / spread.sum(1, /*keepdim=*/true));
}

}  // namespace isinglass
