// Runs one-site proposals from a table of log weights (kernels/path/tabulated_site.h) on tensors.
#pragma once

#include "io/torch.h"
#include "kernels/path/tabulated_site.h"

namespace isinglass::ops {

using torch::Tensor;

// Holds the drawn sites of B chains, as in tabulated_site.h.
struct SiteBuffers {
  Tensor site;        // int64 [B]
  Tensor block_sums;  // float64 [B, block_sums_size(D)]

  static SiteBuffers create(int64_t chains, int64_t sites, torch::Device device);
};

// Draw and score proposals as in tabulated_site.h. table is float64 [B, D], contiguous and without
// gradient; log_q float64 [B].
void draw_tabulated_site(const Tensor& table, const Tensor& x, const Tensor& rng,
                         const Tensor& chain_ids, int64_t position, Tensor& y, SiteBuffers& drawn,
                         Tensor& log_q);
void score_tabulated_site(const Tensor& table, const Tensor& x, SiteBuffers& drawn, Tensor& log_q);

// Writes log g at t = e^d for the four functions of balancing.h: d float64 [B, D], out float64 [4,
// B, D].
void log_balances(const Tensor& d, Tensor& out);

}  // namespace isinglass::ops
