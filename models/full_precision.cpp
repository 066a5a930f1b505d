// Implements the scope by a process-wide counter: the first scope saves LibTorch's settings, and
// the last one restores those that nobody has changed meanwhile.
#include "models/full_precision.h"

#include <ATen/Context.h>

#include <mutex>
#include <string>

namespace isinglass {
namespace {

std::string word_for(at::Float32MatmulPrecision precision) {
  switch (precision) {
    case at::Float32MatmulPrecision::HIGH:
      return "high";
    case at::Float32MatmulPrecision::MEDIUM:
      return "medium";
    default:
      return "highest";
  }
}

// Holds the settings that were in force before the first of the present scopes.
struct Before {
  std::mutex mutex;
  int scopes = 0;
  bool convolutions = false;   // true if cuDNN was allowed to use TF32
  bool deterministic = false;  // true if cuDNN had to use deterministic algorithms
  std::string products;        // LibTorch's name for the precision of matrix products
};

Before& before() {
  static Before state;
  return state;
}

}  // namespace

FullPrecision::FullPrecision() {
  Before& state = before();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (state.scopes++ > 0) return;
  at::Context& context = at::globalContext();
  state.convolutions = context.allowTF32CuDNN();
  state.deterministic = context.deterministicCuDNN();
  state.products = word_for(context.float32MatmulPrecision());
  if (state.convolutions) context.setAllowTF32CuDNN(false);
  if (!state.deterministic) context.setDeterministicCuDNN(true);
  if (state.products != "highest") context.setFloat32MatmulPrecision("highest");
}

FullPrecision::~FullPrecision() {
  Before& state = before();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (--state.scopes > 0) return;
  at::Context& context = at::globalContext();
  if (state.convolutions && !context.allowTF32CuDNN()) context.setAllowTF32CuDNN(true);
  if (!state.deterministic && context.deterministicCuDNN()) context.setDeterministicCuDNN(false);
  if (state.products != "highest" && word_for(context.float32MatmulPrecision()) == "highest") {
    context.setFloat32MatmulPrecision(state.products);
  }
}

}  // namespace isinglass
