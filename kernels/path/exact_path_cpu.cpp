// CPU twin of exact_path.h: a thread works on one chain after the other.
#include "kernels/path/exact_path.h"
#include "kernels/path/weight_sums_cpu.h"

namespace isinglass::cpu {

void follow_path(const DifferencePathShape& shape, int64_t position, const float* table,
                 const int64_t* rng, const int64_t* chain_ids, const double* radius, uint8_t* y,
                 DifferencePaths paths, double* log_forward, double* log_backward, Stream) {
  const int64_t entries = shape.entries();
#pragma omp parallel for schedule(static) if (worth_threads(shape.chains * entries))
  for (int64_t c = 0; c < shape.chains; ++c) {
    const PathPosition at = path_position(shape, position, rng, chain_ids, radius, paths, c);
    if (position == 0) {
      paths.length[c] = static_cast<int32_t>(at.length);
      log_forward[c] = log_backward[c] = 0;
    }
    if (position > at.length) continue;
    uint8_t* own = y + c * shape.state_bytes();
    const uint8_t* values = site_values(shape, own);
    with_difference_rows(shape, table + c * shape.table_stride(), [&](auto rows) {
      const SiteSums sums(rows, values, entries, paths.block_sums + c * block_sums_size(entries));
      if (position > 0) {
        const int64_t last = paths.entry[c];
        log_backward[c] +=
            rows.log_weight(last, values ? values[last] : 0, paths.from[c]) - sums.log_total();
      }
      if (position == at.length) return;
      const int64_t entry = sums.draw_site(at.draws.uniform(Purpose::kSite, position));
      const int from = values ? values[entry] : 0;
      const int to = rows.draw_value(entry, from, at.draws.uniform(Purpose::kValue, position));
      log_forward[c] += rows.log_weight(entry, from, to) - sums.log_total();
      paths.entry[c] = static_cast<int32_t>(entry);
      paths.from[c] = static_cast<uint8_t>(from);
      make_move(shape, own, entry, to);
    });
  }
}

}  // namespace isinglass::cpu
