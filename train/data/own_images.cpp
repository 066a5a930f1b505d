// Implements the interpretation of a user's own images and points.
#include "train/data/own_images.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "io/error.h"
#include "io/pt/pt_file.h"
#include "train/data/formats/format.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDarkest = 128;  // the largest grey level of any set is at least this (of 255)

// Returns the arrays that are given.
std::vector<const OwnArray*> given(const OwnArrays& arrays) {
  std::vector<const OwnArray*> all;
  for (const OwnArray* array : {&arrays.whole, &arrays.train, &arrays.validation, &arrays.test}) {
    if (array->given()) all.push_back(array);
  }
  return all;
}

// Returns the array that holds the training images.
const OwnArray& training(const OwnArrays& arrays) {
  return arrays.whole.given() ? arrays.whole : arrays.train;
}

bool whole_numbers(const torch::Tensor& values) {
  return at::isIntegralType(values.scalar_type(), /*includeBool=*/false);
}

struct ImageShape {
  int64_t sites = 0;
  std::optional<std::pair<int64_t, int64_t>> size = {};  // [height, width], if the array has them
};

ImageShape shape_of(const OwnArray& array) {
  const torch::Tensor& values = array.values;
  const bool channel = values.dim() == 4 && values.size(1) == 1;
  require((values.dim() == 2 || values.dim() == 3 || channel) && values.numel() > 0,
          "{} holds an array of shape [{}]; expected images [N, D], [N, H, W] or [N, 1, H, W]",
          array.name, fmt::join(values.sizes(), ", "));
  if (values.dim() == 2) return {values.size(1)};
  const std::pair size(values.size(-2), values.size(-1));
  return {size.first * size.second, size};
}

// Sets the size of the images, which must be the same for all arrays. The size of flat images is a
// guess.
void set_size(Dataset& data, const OwnArrays& arrays) {
  const OwnArray& first = training(arrays);
  const OwnArray* shaped = nullptr;
  for (const OwnArray* array : given(arrays)) {
    const ImageShape shape = shape_of(*array);
    require(shape.sites == shape_of(first).sites,
            "{} holds images of {} pixels, but {} holds images of {}", array->name, shape.sites,
            first.name, shape_of(first).sites);
    if (!shape.size) continue;
    require(!shaped || shape.size == shape_of(*shaped).size,
            "{} holds images of {}x{} pixels, but {} holds images of {}x{}", array->name,
            shape.size->first, shape.size->second, shaped ? shaped->name : "", data.height,
            data.width);
    shaped = array;
    std::tie(data.height, data.width) = *shape.size;
  }
  data.flat = !shaped;
  if (data.flat) std::tie(data.height, data.width) = image_size(first.values);
}

// Converts types that few operations support to the next type that holds all their values.
torch::Tensor plain(const torch::Tensor& values) {
  switch (values.scalar_type()) {
    case torch::kUInt16:
    case torch::kUInt32:
    case torch::kUInt64:
      return values.to(torch::kInt64);
    case torch::kHalf:
    case torch::kBFloat16:
      return values.to(torch::kFloat32);
    default:
      return values;
  }
}

OwnArrays plain(OwnArrays arrays) {
  for (OwnArray* array : {&arrays.whole, &arrays.train, &arrays.validation, &arrays.test}) {
    if (array->values.defined()) array->values = plain(array->values);
  }
  return arrays;
}

// Replaces the missing values of the training images by known ones, so that they do not affect how
// the numbers are understood. Returns where they are, bool [N, D]; undefined if there are none. A
// single array that has some becomes that of the training images.
torch::Tensor take_missing(OwnArrays& arrays) {
  torch::Tensor missing;
  for (OwnArray* array : {&arrays.whole, &arrays.train, &arrays.validation, &arrays.test}) {
    if (!array->given() || !array->values.is_floating_point()) continue;
    const torch::Tensor absent = torch::isnan(array->values);
    if (!absent.any().item<bool>()) continue;
    require(array == &arrays.whole || array == &arrays.train,
            "{} holds values that are not a number; only training images may have missing values "
            "(NaN)",
            array->name);
    const torch::Tensor known = array->values.masked_select(absent.logical_not());
    require(known.numel() > 0,
            "every value of {} is not a number; images with missing values (NaN) need known ones",
            array->name);
    array->values = array->values.masked_fill(absent, known[0]);
    missing = absent.flatten(1).contiguous();
  }
  if (missing.defined() && arrays.whole.given()) std::swap(arrays.train, arrays.whole);
  return missing;
}

// How the numbers of an array are to be understood.
enum class Unit {
  kAny,     // whole numbers that are all 0
  kBit,     // whole numbers 0 and 1
  kBinary,  // 0 and 1 as bool or real numbers
  kGrey,    // real numbers from 0 to 1
  kByte,    // whole numbers up to 255
};

void refuse_spins(const OwnArray& array) {
  const torch::Tensor& values = array.values;
  const bool spins = ((values == -1) | (values == 1)).all().item<bool>();
  require(!spins,
          "{} holds the values -1 and 1, but states have the values 0 and 1; (s + 1)/2 converts "
          "spins s",
          array.name);
}

Unit unit_of_whole(const OwnArray& array) {
  const auto least = array.values.min().item<int64_t>(), most = array.values.max().item<int64_t>();
  if (least < 0) refuse_spins(array);
  require(least >= 0 && most <= 255,
          "{} holds whole numbers from {} to {}; expected 0 and 1, or grey levels to 255",
          array.name, least, most);
  require_options(most <= 1 || most >= kDarkest,
                  "{} holds whole numbers up to {}; expected 0 and 1, or grey levels whose largest "
                  "is at least {} of 255. Divide them by {} to make them real grey levels from 0 "
                  "to 1, or give `levels` {} to read them as categories",
                  array.name, most, kDarkest, most, most + 1);
  return most == 0 ? Unit::kAny : most == 1 ? Unit::kBit : Unit::kByte;
}

Unit unit_of(const OwnArray& array) {
  const torch::Tensor& values = array.values;
  if (values.scalar_type() == torch::kBool) return Unit::kBinary;
  if (whole_numbers(values)) return unit_of_whole(array);
  require(values.is_floating_point(), "{} holds values of type {}; expected whole or real numbers",
          array.name, torch::toString(values.scalar_type()));
  const bool unit = ((values >= 0) & (values <= 1)).all().item<bool>();
  if (!unit) refuse_spins(array);
  require(unit,
          "{} holds values outside [0, 1] or not a number; real values are grey levels in [0, 1]",
          array.name);
  if (((values == 0) | (values == 1)).all().item<bool>()) return Unit::kBinary;
  const double most = values.max().item<double>();
  require(
      255 * most >= kDarkest - 1,
      "{} holds real grey levels up to {:.4g}; expected levels from 0 (black) to 1 (white), whose "
      "largest is at least 0.5. Divide them by {:.4g} if they have another unit",
      array.name, most, most);
  return Unit::kGrey;
}

// Converts an array to pixels in the unit that all arrays have in common.
torch::Tensor pixels_of(const torch::Tensor& values, bool grey, Unit unit) {
  if (!grey) return values.to(torch::kUInt8);
  if (values.is_floating_point()) return grey_levels(values);
  return values.to(torch::kUInt8) * (unit == Unit::kByte ? 1 : 255);
}

struct Pixels {
  std::vector<torch::Tensor> all = {};  // uint8 [N, D], in the order of the arrays
  PixelValues values = PixelValues::kBinary;
};

Pixels binary_or_grey(const std::vector<const OwnArray*>& arrays) {
  std::vector<Unit> units;
  const OwnArray *bits = nullptr, *bytes = nullptr;
  for (const OwnArray* array : arrays) {
    units.push_back(unit_of(*array));
    if (units.back() == Unit::kBit) bits = array;
    if (units.back() == Unit::kByte) bytes = array;
  }
  require(
      !bits || !bytes,
      "{} holds whole numbers up to 1 and {} up to 255, so that 1 could be white or black; give "
      "both in the same unit",
      bits ? bits->name : "", bytes ? bytes->name : "");
  const bool grey = bytes || std::find(units.begin(), units.end(), Unit::kGrey) != units.end();
  Pixels pixels{.values = grey ? PixelValues::kGrey : PixelValues::kBinary};
  for (size_t i = 0; i < arrays.size(); ++i) {
    pixels.all.push_back(pixels_of(arrays[i]->values, grey, units[i]));
  }
  return pixels;
}

// Converts arrays of whole numbers 0 … levels − 1.
Pixels categories(const std::vector<const OwnArray*>& arrays, int64_t levels) {
  Pixels pixels{.values = PixelValues::kCategorical};
  for (const OwnArray* array : arrays) {
    const torch::Tensor& values = array->values;
    // Real numbers are needed where NaN marks missing values.
    const bool whole = at::isIntegralType(values.scalar_type(), /*includeBool=*/true) ||
                       (values.is_floating_point() && values.frac().eq(0).all().item<bool>());
    require(whole, "{} holds values of type {}; categories are whole numbers", array->name,
            torch::toString(values.scalar_type()));
    const auto least = values.min().item<int64_t>(), most = values.max().item<int64_t>();
    require_options(
        least >= 0 && most < levels,
        "`levels` {} allows categories from 0 to {}, but {} holds whole numbers from {} to {}",
        levels, levels - 1, array->name, least, most);
    pixels.all.push_back(values.to(torch::kUInt8));
  }
  return pixels;
}

torch::Tensor checked_labels(const OwnArrays& arrays, int64_t images) {
  if (!arrays.labels.defined()) return {};
  torch::Tensor labels = arrays.labels;
  if (labels.dim() == 2 && labels.size(1) == 1) labels = labels.squeeze(1);
  require_labels(labels, images, training(arrays).name);
  return labels.to(torch::kInt64);
}

// Shuffles the images with a fixed seed; the first 80 % are training images.
void split(Dataset& data, const torch::Tensor& pixels, const torch::Tensor& labels) {
  const int64_t count = pixels.size(0), held_out = count / 10;
  const torch::Tensor order = shuffled_order(count), shuffled = pixels.index_select(0, order);
  data.train = shuffled.narrow(0, 0, count - 2 * held_out);
  data.validation = shuffled.narrow(0, count - 2 * held_out, held_out);
  data.test = shuffled.narrow(0, count - held_out, held_out);
  if (labels.defined()) {
    data.labels = labels.index_select(0, order).narrow(0, 0, data.train.size(0)).contiguous();
  }
}

void require_training(const OwnArrays& arrays, const std::string& name) {
  if (arrays.whole.values.defined())
    return void(shape_of(arrays.whole));  // throws Error if the array is empty
  require(arrays.train.values.defined(), "{} has no training images", name);
  shape_of(arrays.train);
}

}  // namespace

Dataset own_images(const OwnArrays& own, const std::string& name, std::optional<int64_t> levels) {
  require_training(own, name);
  OwnArrays arrays = plain(own);
  Dataset data;
  data.missing = take_missing(arrays);
  data.name = name;
  set_size(data, arrays);
  const std::vector<const OwnArray*> all = given(arrays);
  Pixels pixels = levels ? categories(all, *levels) : binary_or_grey(all);
  data.values = pixels.values;
  if (levels) data.categories = *levels;
  for (torch::Tensor& each : pixels.all) each = each.flatten(1).contiguous();
  const torch::Tensor labels = checked_labels(arrays, pixels.all[0].size(0));
  if (arrays.whole.given()) {
    split(data, pixels.all[0], labels);
    data.source = fmt::format("{}: shuffled with a fixed seed, split 80/10/10", name);
    return data;
  }
  data.source = name;
  data.labels = labels;
  const torch::Tensor none = pixels.all[0].narrow(0, 0, 0);
  data.train = data.validation = data.test = none;
  for (size_t i = 0; i < all.size(); ++i) {
    (all[i] == &arrays.train        ? data.train
     : all[i] == &arrays.validation ? data.validation
                                    : data.test) = pixels.all[i];
  }
  if (data.missing.defined()) data.train = data.train.masked_fill(data.missing, 0);
  return data;
}

int64_t sites_of(const OwnArrays& arrays) {
  return shape_of(training(arrays)).sites;
}

bool are_points(const OwnArrays& arrays) {
  const std::vector<const OwnArray*> all = given(arrays);
  return std::all_of(all.begin(), all.end(), [](const OwnArray* array) {
    return array->values.is_floating_point() && array->values.dim() == 2;
  });
}

Dataset own_points(const OwnArrays& arrays, const std::string& name) {
  require_training(arrays, name);
  Dataset data;
  data.name = data.source = name;
  data.values = PixelValues::kReal;
  set_size(data, arrays);
  data.height = 1;
  data.width = sites_of(arrays);
  const auto numbers = [](const OwnArray& array) {
    const torch::Tensor points = array.values.to(torch::kFloat32).contiguous();
    require(torch::isfinite(points).all().item<bool>(),
            "{} holds a number that is not finite; values of points may not be missing",
            array.name);
    return points;
  };
  data.train = numbers(training(arrays));
  if (arrays.validation.given()) data.validation = numbers(arrays.validation);
  if (arrays.test.given()) data.test = numbers(arrays.test);
  data.labels = checked_labels(arrays, data.train.size(0));
  return data;
}

OwnArrays arrays_named(const NamedTensors& arrays, const std::string& source) {
  using Names = std::vector<std::string>;
  static const Names kTrain = {"train", "training", "x_train", "train_images"},
                     kValidation = {"validation", "valid", "val",       "validating",
                                    "x_valid",    "x_val", "val_images"},
                     kTest = {"test", "testing", "x_test", "test_images"},
                     kLabels = {"labels", "label", "y", "y_train", "train_labels"},
                     kOtherLabels = {"y_test", "test_labels", "y_val", "y_valid", "val_labels"};
  const auto is = [](const std::string& name, const Names& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  OwnArrays own;
  std::vector<std::string> found;
  for (const auto& [name, values] : arrays) {
    found.push_back(name);
    if (is(name, kOtherLabels)) continue;
    if (is(name, kLabels)) {
      own.labels = values;
      continue;
    }
    OwnArray& slot = is(name, kTrain)        ? own.train
                     : is(name, kValidation) ? own.validation
                     : is(name, kTest)       ? own.test
                                             : own.whole;
    const bool first = !slot.values.defined();
    require(first, "{} holds the arrays {}; expected train, validation and test, or a single array",
            source, fmt::join(found, ", "));
    slot = {fmt::format("{}, array '{}',", source, name), values};
  }
  const bool held_out = own.validation.values.defined() || own.test.values.defined();
  const bool whole = own.whole.values.defined(), train = own.train.values.defined();
  require(whole ? !train && !held_out : train,
          "{} holds the arrays {}; expected train, validation and test, or a single array", source,
          fmt::join(found, ", "));
  if (whole) own.whole.name = source;
  return own;
}

namespace {

OwnArrays read_pt_arrays(const fs::path& file) {
  const PtValue content = read_pt(file);
  if (content.is_dict()) return arrays_named(named_tensors(content, file.string()), file.string());
  require(content.is_tensor(), "{} holds neither a tensor nor a dictionary of tensors",
          file.string());
  return {.whole = {file.string(), std::get<torch::Tensor>(content.value)}};
}

OwnArrays read_arrays(const fs::path& file) {
  if (file.extension() == ".pt") return read_pt_arrays(file);
  const DataFormat* format = format_of(file);
  require(fs::exists(fs::status(file)), "{} does not exist", file.string());
  require(format && (format->read || format->read_arrays),
          "{} is not a file of images; the formats that can be read are: {}", file.string(),
          readable_formats());
  if (format->read_arrays) return format->read_arrays(file);
  return {.whole = {file.string(), format->read(file)}};
}

}  // namespace

OwnArrays read_own_arrays(const fs::path& file, const SplitFiles& splits) {
  OwnArrays arrays = read_arrays(file);
  const auto add = [&](const char* option, const fs::path& other, OwnArray& array) {
    if (other.empty()) return;
    require_options(!array.given(), "`{}` is {}, but {} already holds images of that split", option,
                    other.string(), file.string());
    OwnArrays more = read_arrays(other);
    require_options(more.whole.given(), "`{}` is {}, which holds several arrays; one is needed",
                    option, other.string());
    array = std::move(more.whole);
    if (arrays.whole.given()) std::swap(arrays.train, arrays.whole);
  };
  add("validation", splits.validation, arrays.validation);
  add("test", splits.test, arrays.test);
  return arrays;
}

}  // namespace isinglass
