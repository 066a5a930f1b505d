// In which steps pairs of rungs are measured: how often they would reject a swap, and what energies
// rise by between them. A pair that swaps is; the others where their energies are at hand anyway
// (`all`), or where draws are kept of all.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace isinglass {

struct MeasuredPairs {
  int64_t first, every, draws;  // kept ones: of so many steps first, first + every, …
  bool all = true;

  // Which of the kept draws a step has, −1: none.
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
