// Implements any_scale.h on the CPU, with vector instructions for rows of many values.
#include "kernels/any_scale/any_scale.h"
#include "kernels/base/categorical_cpu.h"
#include "kernels/base/threads_cpu.h"
#include "kernels/base/vectors_cpu.h"

namespace isinglass::cpu {
namespace {

// Calls f with the categorical distribution of these log weights. It takes WrittenCategorical for
// many values, and Categorical for few values or if the log weights may not be finite.
template <class F>
[[gnu::always_inline]] inline double with_row(const OrderedShape& shape,
                                              const OrderedLogWeight& log_weight, F f) {
  const int count = shape.categories;
  const bool finite = std::isfinite(log_weight.slope) && std::isfinite(log_weight.curvature);
  if (count <= WrittenCategorical::kFewValues || !finite) return f(Categorical(count, log_weight));
  return f(WrittenCategorical(count, [&](double* of_value) {
    for (int v = 0; v < count; ++v) of_value[v] = log_weight(v);
  }));
}

ISINGLASS_FLAT_CLONES double draw_chain(const OrderedShape& shape, const OrderedProposal& proposal,
                                        const PhiloxStream& draws, int64_t c, const uint8_t* x,
                                        uint8_t* y, double* move) {
  double sum = 0;
  for (int64_t i = 0; i < shape.sites; ++i) {
    sum += with_row(shape, ordered_log_weight(shape, proposal, c, i, x[c * shape.sites + i]),
                    [&](const auto& row) {
                      return draw_ordered_site(row, shape, proposal, draws, c, i, x, y, move);
                    });
  }
  return sum;
}

ISINGLASS_FLAT_CLONES double score_chain(const OrderedShape& shape, const OrderedProposal& proposal,
                                         int64_t c, const uint8_t* from, const uint8_t* to) {
  double sum = 0;
  for (int64_t i = 0; i < shape.sites; ++i) {
    sum += with_row(
        shape, ordered_log_weight(shape, proposal, c, i, from[c * shape.sites + i]),
        [&](const auto& row) { return score_ordered_site(row, shape, proposal, c, i, to); });
  }
  return sum;
}

}  // namespace

void draw_ordered(const OrderedShape& shape, const OrderedProposal& proposal, const uint8_t* x,
                  const int64_t* rng, const int64_t* chain_ids, uint8_t* y, double* move,
                  double* log_q, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, shape.chains * shape.sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < shape.chains; ++c) {
    log_q[c] = draw_chain(shape, proposal, step_draws(rng, chain_ids[c]), c, x, y, move);
  }
}

void score_ordered(const OrderedShape& shape, const OrderedProposal& proposal, const uint8_t* from,
                   const uint8_t* to, double* log_q, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, shape.chains * shape.sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < shape.chains; ++c) {
    log_q[c] = score_chain(shape, proposal, c, from, to);
  }
}

}  // namespace isinglass::cpu
