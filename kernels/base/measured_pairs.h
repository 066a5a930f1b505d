// Selects the steps in which a pair of adjacent rungs of the temperature ladder is measured: its
// swap rejection rate and the energy differences between the two rungs. A pair is always measured
// in the steps in which it tries to swap. Other pairs are measured if their energies are available
// at no cost (`all`), or in steps whose draws are kept.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace isinglass {

struct MeasuredPairs {
  int64_t first, every, draws;  // Draws are kept in the `draws` steps first, first + every, …
  bool all = true;

  // Returns the index of the kept draw of a step, or −1 if the step keeps none.
  ISINGLASS_HD int64_t draw(int64_t step) const {
    const int64_t since = step - first;
    return since >= 0 && since % every == 0 && since / every < draws ? since / every : -1;
  }
  ISINGLASS_HD static bool swaps(int64_t pair, int64_t step) { return pair % 2 == step % 2; }
  ISINGLASS_HD bool measures(int64_t pair, int64_t step) const {
    return all || swaps(pair, step) || draw(step) >= 0;
  }
};

}  // namespace isinglass
