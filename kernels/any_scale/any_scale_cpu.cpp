// CPU twin of any_scale.h.
#include "kernels/any_scale/any_scale.h"

namespace isinglass::cpu {

void draw_ordered(const OrderedShape& shape, const OrderedProposal& proposal, const uint8_t* x,
                  const int64_t* rng, const int64_t* chain_ids, uint8_t* y, double* move,
                  double* log_q, Stream) {
#pragma omp parallel for schedule(static) if (parallel_pays(shape.chains * shape.sites))
  for (int64_t c = 0; c < shape.chains; ++c) {
    const Draws draws = step_draws(rng, chain_ids[c]);
    double sum = 0;
    for (int64_t i = 0; i < shape.sites; ++i) {
      sum += draw_ordered_site(shape, proposal, draws, c, i, x, y, move);
    }
    log_q[c] = sum;
  }
}

void score_ordered(const OrderedShape& shape, const OrderedProposal& proposal, const uint8_t* from,
                   const uint8_t* to, double* log_q, Stream) {
#pragma omp parallel for schedule(static) if (parallel_pays(shape.chains * shape.sites))
  for (int64_t c = 0; c < shape.chains; ++c) {
    double sum = 0;
    for (int64_t i = 0; i < shape.sites; ++i) {
      sum += score_ordered_site(shape, proposal, c, i, from, to);
    }
    log_q[c] = sum;
  }
}

}  // namespace isinglass::cpu
