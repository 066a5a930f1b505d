// Tensors of tabulated_site.h: one-site proposals from a table of log weights.
#pragma once

#include "io/torch.h"
#include "kernels/path/tabulated_site.h"

namespace isinglass::ops {

using torch::Tensor;

// A drawn site of B chains: see tabulated_site.h.
struct SiteBuffers {
  Tensor site;        // int64 [B]
  Tensor block_sums;  // float64 [B, block_sums_size(D)]

  static SiteBuffers create(int64_t chains, int64_t sites, torch::Device device);
};

// tabulated_site.h. table float64 [B, D] (contiguous, no gradient), log_q float64 [B].
void draw_tabulated_site(const Tensor& table, const Tensor& x, const Tensor& rng,
                         const Tensor& chain_ids, int64_t position, Tensor& y, SiteBuffers& drawn,
                         Tensor& log_q);
void score_tabulated_site(const Tensor& table, const Tensor& x, SiteBuffers& drawn, Tensor& log_q);

// log g at t = e^d of the four functions of balancing.h: d float64 [B, D], out float64 [4, B, D].
void log_balances(const Tensor& d, Tensor& out);

}  // namespace isinglass::ops
