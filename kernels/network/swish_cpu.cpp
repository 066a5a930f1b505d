// Implements swish.h on the CPU, in pieces that threads share and the compiler vectorises.
#include <algorithm>

#include "kernels/base/threads_cpu.h"
#include "kernels/base/vectors_cpu.h"
#include "kernels/network/swish.h"

namespace isinglass::cpu {
namespace {

constexpr int64_t kPiece = 4096;

template <class T>
[[gnu::always_inline]] inline void swish_piece(int64_t count, const float* a, const float* b,
                                               float* y, T* slope) {
  if (b) {
    for (int64_t i = 0; i < count; ++i) swish_number(i, a, b, y, slope);
  } else {
    for (int64_t i = 0; i < count; ++i) swish_number(i, a, nullptr, y, slope);
  }
}

template <class T>
[[gnu::always_inline]] inline void backward_piece(int64_t count, const T* g, const T* h,
                                                  const T* slope, T* out) {
  if (h) {
    for (int64_t i = 0; i < count; ++i) swish_backward_number(i, g, h, slope, out);
  } else {
    for (int64_t i = 0; i < count; ++i) swish_backward_number<T>(i, g, nullptr, slope, out);
  }
}

ISINGLASS_VECTOR_CLONES
void piece(int64_t count, const float* a, const float* b, float* y, float* slope) {
  swish_piece(count, a, b, y, slope);
}
ISINGLASS_VECTOR_CLONES
void piece(int64_t count, const float* a, const float* b, float* y, Bfloat16* slope) {
  swish_piece(count, a, b, y, slope);
}
ISINGLASS_VECTOR_CLONES
void piece_back(int64_t count, const float* g, const float* h, const float* slope, float* out) {
  backward_piece(count, g, h, slope, out);
}
ISINGLASS_VECTOR_CLONES
void piece_back(int64_t count, const Bfloat16* g, const Bfloat16* h, const Bfloat16* slope,
                Bfloat16* out) {
  backward_piece(count, g, h, slope, out);
}

template <class T>
const T* from(const T* p, int64_t i) {
  return p ? p + i : nullptr;
}

template <class T>
void all_pieces(int64_t count, const float* a, const float* b, float* y, T* slope) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, count);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t i = 0; i < count; i += kPiece) {
    piece(std::min(kPiece, count - i), a + i, from(b, i), y + i, slope + i);
  }
}

template <class T>
void all_pieces_back(int64_t count, const T* g, const T* h, const T* slope, T* out) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, count);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t i = 0; i < count; i += kPiece) {
    piece_back(std::min(kPiece, count - i), g + i, from(h, i), slope + i, out + i);
  }
}

}  // namespace

void swish(int64_t count, const float* a, const float* b, float* y, float* slope, Stream) {
  all_pieces(count, a, b, y, slope);
}
void swish(int64_t count, const float* a, const float* b, float* y, Bfloat16* slope, Stream) {
  all_pieces(count, a, b, y, slope);
}
void swish_backward(int64_t count, const float* g, const float* h, const float* slope, float* out,
                    Stream) {
  all_pieces_back(count, g, h, slope, out);
}
void swish_backward(int64_t count, const Bfloat16* g, const Bfloat16* h, const Bfloat16* slope,
                    Bfloat16* out, Stream) {
  all_pieces_back(count, g, h, slope, out);
}

}  // namespace isinglass::cpu
