// Computes a ResNet's output and its gradient by plain loops (CPU version of resnet_pass.h). It is
// for tests, which compare it with LibTorch and the CUDA version with it: models on a CPU use
// Winograd's convolutions (winograd.h), which are many times as fast.
#include <cmath>
#include <vector>

#include "kernels/network/resnet_pass.h"
#include "kernels/network/swish.h"

namespace isinglass {

bool resnet_pass_serves(const ResNetShape& s, int64_t shared_memory) {
  const auto side = [](int64_t n) { return n >= 2 && n <= ResNetShape::kMostSide && n % 2 == 0; };
  return (s.channels == 16 || s.channels == 32 || s.channels == 64) && side(s.height) &&
         side(s.width) && s.inputs >= 1 && s.inputs <= ResNetShape::kMostInputs &&
         ResNetTiles::shared_bytes(s.channels) <= shared_memory;
}

namespace cpu {
namespace {

// Holds a map with one position of zeros around it.
struct Map {
  int64_t channels, height, width;
  std::vector<float> numbers;

  Map(int64_t channels, int64_t height, int64_t width)
      : channels(channels),
        height(height),
        width(width),
        numbers(channels * (height + 2) * (width + 2)) {}
  float& at(int64_t c, int64_t y, int64_t x) {
    return numbers[(c * (height + 2) + y + 1) * (width + 2) + x + 1];
  }
  float at(int64_t c, int64_t y, int64_t x) const { return const_cast<Map*>(this)->at(c, y, x); }

  template <class F>
  void each(F f) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t y = 0; y < height; ++y) {
        for (int64_t x = 0; x < width; ++x) f(c, y, x, at(c, y, x));
      }
    }
  }
};

// Returns the weight of a tap in weights [from, 3, 3, to].
float tap_of(const float* weights, int64_t channels, int64_t from, int dy, int dx, int64_t to) {
  return weights[((from * 3 + dy) * 3 + dx) * channels + to];
}

// Adds a 3×3 convolution of one output to `sum`, over the channels k with of_share(k).
template <class OfShare>
float convolved(float sum, const Map& in, const float* w, int64_t stride, int64_t o, int64_t y,
                int64_t x, OfShare of_share) {
  for (int64_t k = 0; k < in.channels; ++k) {
    if (!of_share(k)) continue;
    for (int dy = 0; dy < 3; ++dy) {
      for (int dx = 0; dx < 3; ++dx) {
        sum = fmaf(tap_of(w, in.channels, k, dy, dx, o),
                   in.at(k, stride * y + dy - 1, stride * x + dx - 1), sum);
      }
    }
  }
  return sum;
}

// Returns the sum of the four shares of a convolution at quarter size.
float shared_sum(const Map& in, const float* w, int64_t stride, int64_t o, int64_t y, int64_t x) {
  float total = 0;
  for (int64_t share = 0; share < ResNetTiles::kShares; ++share) {
    const float part =
        convolved(0, in, w, stride, o, y, x, [share](int64_t k) { return k % 8 / 2 == share; });
    total = share == 0 ? part : total + part;
  }
  return total;
}

// Holds the passes of one chain.
class Pass {
 public:
  Pass(const ResNetShape& shape, const float* packed, const float* image)
      : s_(shape),
        w_(shape, packed),
        image_(image),
        half_(shape.channels, shape.half_height(), shape.half_width()),
        a_(shape.channels, shape.quarter_height(), shape.quarter_width()),
        b_(a_),
        inner_slope_(half_),
        outer_slope_(half_) {}

  double forward() {
    Map h = half_;
    h.each([&](int64_t c, int64_t y, int64_t x, float& out) {
      const int64_t k = 2 * (y == 0) + (x == 0);
      const float a = front(w_.front + k * 25 * s_.inputs * s_.channels,
                            w_.front_bias[k * s_.channels + c], 5, c, y, x);
      out = kept(a, inner_slope_.at(c, y, x));
    });
    half_.each([&](int64_t c, int64_t y, int64_t x, float& out) {
      const float sum = front(w_.front_shortcut, w_.shortcut_bias[c] + bias(0)[c], 3, c, y, x);
      out = kept(convolved(sum, h, convolution(0), 1, c, y, x, [](int64_t) { return true; }),
                 outer_slope_.at(c, y, x));
    });
    a_.each([&](int64_t c, int64_t y, int64_t x, float& out) {
      out = w_.strided_bias[c];
      for (int64_t k = 0; k < s_.channels; ++k) {
        out = fmaf(w_.strided[k * s_.channels + c], half_.at(k, 2 * y, 2 * x), out);
      }
    });
    for (int n = 1; n < ResNetShape::kConvolutions; n += 2) {
      slopes_.insert(slopes_.end(), 2, a_);
      Map& inner = slopes_[n - 1];
      Map& outer = slopes_[n];
      b_.each([&](int64_t c, int64_t y, int64_t x, float& out) {
        const float sum = n == 1 ? shared_sum(half_, convolution(n), 2, c, y, x)
                                 : shared_sum(a_, convolution(n), 1, c, y, x);
        out = kept(sum + bias(n)[c], inner.at(c, y, x));
      });
      a_.each([&](int64_t c, int64_t y, int64_t x, float& out) {
        const float sum = shared_sum(b_, convolution(n + 1), 1, c, y, x);
        out = kept(sum + bias(n + 1)[c] + out, outer.at(c, y, x));
      });
    }
    double net = 0;
    a_.each([&](int64_t c, int64_t y, int64_t x, float& v) {
      net += static_cast<double>(v) * w_.head[head_index(c, y, x)];
    });
    const double parts = s_.linear_head ? 1 : static_cast<double>(s_.positions());
    return net / parts + *w_.head_bias;
  }

  void backward(float* at_image) {
    const float parts = s_.linear_head ? 1.0f : static_cast<float>(s_.positions());
    a_.each([&](int64_t c, int64_t y, int64_t x, float& g) {
      g = w_.head[head_index(c, y, x)] / parts;
    });
    for (int n = ResNetShape::kConvolutions - 2; n > 0; n -= 2) {
      a_.each([&](int64_t c, int64_t y, int64_t x, float& g) { g *= slopes_[n].at(c, y, x); });
      b_.each([&](int64_t c, int64_t y, int64_t x, float& g) {
        g = shared_sum(a_, reversed(n + 1), 1, c, y, x) * slopes_[n - 1].at(c, y, x);
      });
      if (n == 1) break;
      a_.each([&](int64_t c, int64_t y, int64_t x, float& g) {
        g += shared_sum(b_, reversed(n), 1, c, y, x);
      });
    }
    half_.each([&](int64_t c, int64_t y, int64_t x, float& g) {
      g = transposed(c, y, x) * outer_slope_.at(c, y, x);
    });
    Map u = half_;
    u.each([&](int64_t c, int64_t y, int64_t x, float& g) {
      g = convolved(0, half_, reversed(0), 1, c, y, x, [](int64_t) { return true; }) *
          inner_slope_.at(c, y, x);
    });
    for (int64_t y = 0; y < s_.height; ++y) {
      for (int64_t x = 0; x < s_.width; ++x) {
        for (int64_t i = 0; i < s_.inputs; ++i) {
          float sum[4] = {};
          add_front_gradient(u, w_.front, 5, y, x, i, sum);
          add_front_gradient(half_, w_.front_shortcut, 3, y, x, i, sum);
          at_image[(y * s_.width + x) * s_.inputs + i] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        }
      }
    }
  }

 private:
  const float* bias(int n) const { return w_.bias + n * s_.channels; }
  const float* convolution(int n) const {
    return w_.convolution + n * 9 * s_.channels * s_.channels;
  }
  const float* reversed(int n) const { return convolution(2 * ResNetShape::kConvolutions - 1 - n); }
  int64_t head_index(int64_t c, int64_t y, int64_t x) const {
    return s_.linear_head ? c * s_.positions() + y * s_.quarter_width() + x : c;
  }
  static float kept(float a, float& slope) {
    const Swish swish(a);
    slope = swish.slope;
    return swish.value;
  }

  // Adds a composed convolution of the image to `sum`. weights: [kernel, kernel, P, C].
  float front(const float* weights, float sum, int64_t kernel, int64_t c, int64_t y,
              int64_t x) const {
    for (int64_t p = 0; p < kernel; ++p) {
      for (int64_t i = 0; i < s_.inputs; ++i) {
        for (int64_t q = 0; q < kernel; ++q) {
          const int64_t row = 2 * y + p - kernel / 2, column = 2 * x + q - kernel / 2;
          if (row < 0 || row >= s_.height || column < 0 || column >= s_.width) continue;
          sum = fmaf(weights[((p * kernel + q) * s_.inputs + i) * s_.channels + c],
                     image_[(row * s_.width + column) * s_.inputs + i], sum);
        }
      }
    }
    return sum;
  }

  // Returns the gradient in block 1's input, given those in its convolution's output (b_) and in
  // its shortcut's (a_).
  float transposed(int64_t c, int64_t y, int64_t x) const {
    float sum = 0;
    for (int64_t o = 0; o < s_.channels; ++o) {
      for (int dy = 0; dy < 3; ++dy) {
        for (int dx = 0; dx < 3; ++dx) {
          if ((y + 1 - dy) % 2 != 0 || (x + 1 - dx) % 2 != 0) continue;
          sum = fmaf(tap_of(reversed(1), s_.channels, o, 2 - dy, 2 - dx, c),
                     b_.at(o, (y + 1 - dy) / 2, (x + 1 - dx) / 2), sum);
        }
      }
    }
    for (int64_t o = 0; o < s_.channels && y % 2 == 0 && x % 2 == 0; ++o) {
      sum = fmaf(w_.strided_back[o * s_.channels + c], a_.at(o, y / 2, x / 2), sum);
    }
    return sum;
  }

  // Adds the gradient in a pixel that comes from a composed convolution's output.
  void add_front_gradient(const Map& at_output, const float* weights, int64_t kernel, int64_t y,
                          int64_t x, int64_t i, float (&sum)[4]) const {
    for (int64_t p = 0; p < kernel; ++p) {
      for (int64_t q = 0; q < kernel; ++q) {
        const int64_t row = y + kernel / 2 - p, column = x + kernel / 2 - q;
        if (row < 0 || row % 2 != 0 || row / 2 >= at_output.height) continue;
        if (column < 0 || column % 2 != 0 || column / 2 >= at_output.width) continue;
        const int64_t k = kernel == 5 ? 2 * (row == 0) + (column == 0) : 0;
        const float* w = weights + (((k * kernel + p) * kernel + q) * s_.inputs + i) * s_.channels;
        for (int64_t c = 0; c < s_.channels; ++c) {
          sum[c % 4] = fmaf(w[c], at_output.at(c, row / 2, column / 2), sum[c % 4]);
        }
      }
    }
  }

  const ResNetShape& s_;
  ResNetWeights w_;
  const float* image_;
  Map half_, a_, b_;               // half_ holds block 0's output, later the gradient in it
  Map inner_slope_, outer_slope_;  // of block 0
  std::vector<Map> slopes_;        // of the other blocks, inner and outer in turn
};

}  // namespace

void resnet_pass(const ResNetShape& shape, int64_t chains, const float* weights, const float* image,
                 float*, double* net, float* at_image, Stream) {
  for (int64_t b = 0; b < chains; ++b) {
    Pass pass(shape, weights, image + b * shape.pixels());
    net[b] = pass.forward();
    if (at_image) pass.backward(at_image + b * shape.pixels());
  }
}

}  // namespace cpu
}  // namespace isinglass
