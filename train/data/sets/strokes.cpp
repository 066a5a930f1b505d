// The built-in data set: binary 28x28 images of digit-like pen strokes in ten classes, with 50 000
// / 10 000 / 10 000 images. It is the same on every run and for any number of threads.
//
// A class is a glyph made of strokes. A stroke is a Catmull–Rom spline through control points in
// the unit square (x to the right, y down). Each image draws its class, a smooth warp of the square
// (the jitter of the hand), an affine map to pixels and a pen radius r. A pixel is ink if its
// centre lies within r of the curve. The random numbers of image c of the 70 000 are Philox draws
// of Purpose::kStrokes, chain c.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/random/philox.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

constexpr int64_t kStrokesTrain = 50000, kStrokesValidation = 10000, kStrokesTest = 10000;
constexpr int kStrokesSide = 28;

struct Point {
  double x, y;
};

using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

// Strokes that share an end point meet in a corner.
const std::array<Glyph, 10>& glyphs() {
  static const std::array<Glyph, 10> all = {{
      {{{.55, 0},
        {.25, .12},
        {.14, .5},
        {.26, .88},
        {.52, 1},
        {.77, .85},
        {.86, .48},
        {.76, .13},
        {.55, 0}}},
      {{{.3, .22}, {.56, 0}}, {{.56, 0}, {.53, .5}, {.5, 1}}},
      {{{.16, .24}, {.3, .05}, {.58, 0}, {.8, .2}, {.7, .48}, {.42, .76}, {.12, 1}},
       {{.12, 1}, {.5, .97}, {.9, .98}}},
      {{{.18, .12}, {.48, 0}, {.76, .16}, {.68, .38}, {.4, .48}},
       {{.4, .48}, {.74, .58}, {.82, .8}, {.54, 1}, {.15, .9}}},
      {{{.3, 0}, {.2, .32}, {.1, .62}}, {{.1, .62}, {.5, .6}, {.92, .58}}, {{.7, .1}, {.66, 1}}},
      {{{.82, .01}, {.28, .03}},
       {{.28, .03}, {.22, .44}},
       {{.22, .44}, {.55, .38}, {.82, .62}, {.66, .92}, {.34, 1}, {.1, .88}}},
      {{{.7, 0},
        {.4, .2},
        {.2, .58},
        {.3, .93},
        {.58, 1},
        {.8, .78},
        {.66, .55},
        {.4, .56},
        {.22, .72}}},
      {{{.1, .05}, {.5, .06}, {.86, .02}}, {{.86, .02}, {.6, .46}, {.42, 1}}},
      {{{.72, .1},
        {.46, 0},
        {.24, .2},
        {.5, .46},
        {.78, .74},
        {.5, 1},
        {.22, .77},
        {.48, .48},
        {.76, .24},
        {.72, .1}}},
      {{{.76, .16}, {.5, 0}, {.22, .2}, {.34, .46}, {.64, .4}, {.76, .16}},
       {{.76, .16}, {.74, .6}, {.6, 1}}},
  }};
  return all;
}

// The random numbers of one image, in the order in which they are drawn.
class ImageNumbers {
 public:
  explicit ImageNumbers(int64_t image) : draws_{0, static_cast<uint32_t>(image), 0} {}
  double between(double low, double high) {
    return low + (high - low) * draws_.uniform(Purpose::kStrokes, position_++);
  }
  uint32_t below(uint32_t n) { return draws_.below(n, Purpose::kStrokes, position_++); }

 private:
  PhiloxStream draws_;
  uint32_t position_ = 0;
};

// Maps the unit square to pixels: the warp, then scale, slant, rotation and shift.
class Hand {
 public:
  explicit Hand(ImageNumbers& numbers) {
    for (double& bend : bend_) bend = numbers.between(-0.06, 0.06);
    for (double& phase : phase_) phase = numbers.between(0, 2 * M_PI);
    const double width = numbers.between(13, 20), height = numbers.between(17, 21);
    const double slant = numbers.between(-0.15, 0.4), angle = numbers.between(-0.2, 0.2);
    const double cosine = std::cos(angle), sine = std::sin(angle);
    xx_ = width * cosine;
    xy_ = -height * (slant * cosine + sine);
    yx_ = width * sine;
    yy_ = height * (cosine - slant * sine);
    centre_ = {kStrokesSide / 2.0 + numbers.between(-1.5, 1.5),
               kStrokesSide / 2.0 + numbers.between(-1.5, 1.5)};
  }

  Point operator()(Point p) const {
    constexpr double kWave = 1.3 * 2 * M_PI;  // a little more than one wave over the glyph
    const double x = p.x - 0.5 + bend_[0] * std::sin(kWave * p.y + phase_[0]) +
                     bend_[1] * std::sin(kWave * p.x + phase_[1]);
    const double y = p.y - 0.5 + bend_[2] * std::sin(kWave * p.x + phase_[2]) +
                     bend_[3] * std::sin(kWave * p.y + phase_[3]);
    return {centre_.x + xx_ * x + xy_ * y, centre_.y + yx_ * x + yy_ * y};
  }

 private:
  std::array<double, 4> bend_, phase_;
  double xx_, xy_, yx_, yy_;
  Point centre_;
};

// Returns the point at t in [0, 1] of the Catmull–Rom spline between b and c.
Point spline(Point a, Point b, Point c, Point d, double t) {
  const auto along = [t](double a, double b, double c, double d) {
    return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
  };
  return {along(a.x, b.x, c.x, d.x), along(a.y, b.y, c.y, d.y)};
}

double squared_distance(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
  const double along = length > 0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / length : 0;
  const double t = std::clamp(along, 0.0, 1.0);
  const double ex = p.x - a.x - t * dx, ey = p.y - a.y - t * dy;
  return ex * ex + ey * ey;
}

// Inks the pixels within `radius` of the line from a to b.
void draw_line(Point a, Point b, double radius, uint8_t* image) {
  const auto first = [radius](double u, double v) {
    return std::max(0, static_cast<int>(std::floor(std::min(u, v) - radius)));
  };
  const auto last = [radius](double u, double v) {
    return std::min(kStrokesSide - 1, static_cast<int>(std::floor(std::max(u, v) + radius)));
  };
  for (int row = first(a.y, b.y); row <= last(a.y, b.y); ++row) {
    for (int column = first(a.x, b.x); column <= last(a.x, b.x); ++column) {
      const Point centre = {column + 0.5, row + 0.5};
      if (squared_distance(centre, a, b) <= radius * radius) image[row * kStrokesSide + column] = 1;
    }
  }
}

void draw_stroke(const Stroke& stroke, const Hand& hand, double radius, uint8_t* image) {
  constexpr int kLines = 6;  // straight pieces between two control points
  const auto last = static_cast<int>(stroke.size()) - 1;
  Point from = hand(stroke.front());
  for (int i = 0; i < last; ++i) {
    const Point before = stroke[std::max(i - 1, 0)], after = stroke[std::min(i + 2, last)];
    for (int k = 1; k <= kLines; ++k) {
      const double t = k / static_cast<double>(kLines);
      const Point to = hand(spline(before, stroke[i], stroke[i + 1], after, t));
      draw_line(from, to, radius, image);
      from = to;
    }
  }
}

int class_of(ImageNumbers& numbers) {
  return static_cast<int>(numbers.below(10));
}

void draw_image(int64_t number, uint8_t* image) {
  ImageNumbers numbers(number);
  const Glyph& glyph = glyphs()[class_of(numbers)];
  const double radius = numbers.between(0.75, 1.5);
  const Hand hand(numbers);
  for (const Stroke& stroke : glyph) draw_stroke(stroke, hand, radius, image);
}

torch::Tensor stroke_labels(const std::filesystem::path&) {
  torch::Tensor labels = torch::empty({kStrokesTrain}, torch::kInt64);
  for (int64_t i = 0; i < kStrokesTrain; ++i) {
    ImageNumbers numbers(i);
    labels.data_ptr<int64_t>()[i] = class_of(numbers);
  }
  return labels;
}

}  // namespace

Dataset make_strokes() {
  const int64_t count = kStrokesTrain + kStrokesValidation + kStrokesTest;
  const torch::Tensor images = torch::zeros({count, kStrokesSide * kStrokesSide}, torch::kUInt8);
  uint8_t* pixels = images.data_ptr<uint8_t>();
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; ++i) draw_image(i, pixels + i * kStrokesSide * kStrokesSide);
  Dataset data;
  data.train = images.narrow(0, 0, kStrokesTrain);
  data.validation = images.narrow(0, kStrokesTrain, kStrokesValidation);
  data.test = images.narrow(0, kStrokesTrain + kStrokesValidation, kStrokesTest);
  data.source = "built in: procedural pen strokes";
  return data;
}

std::vector<DatasetEntry> stroke_datasets() {
  return {{.name = "strokes",
           .read = [](const std::filesystem::path&) { return make_strokes(); },
           .labels = stroke_labels,
           .sizes = "50000 / 10000 / 10000 of 28x28",
           .values = "binary",
           .source = "drawn by the program",
           .built_in = true}};
}

}  // namespace isinglass
