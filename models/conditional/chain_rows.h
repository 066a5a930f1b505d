// Rows that hold for chains in turn: row r of N holds for the B/N consecutive chains from r·B/N on,
// so that a single row holds for all.
#pragma once

#include "io/torch.h"

namespace isinglass {

// Returns a row for each of B chains, [B, …]. B is a multiple of N.
inline torch::Tensor rows_for_chains(const torch::Tensor& rows, int64_t chains) {
  const int64_t count = rows.size(0);
  TORCH_CHECK(chains % count == 0, count, " rows cannot hold for ", chains, " chains in turn");
  if (count == chains) return rows;
  if (count > 1) return rows.repeat_interleave(chains / count, 0);
  std::vector<int64_t> shape = rows.sizes().vec();
  shape[0] = chains;
  return rows.expand(shape);
}

// Returns the rows of the chains first … first + count − 1 of `chains` chains.
inline torch::Tensor rows_of_chains(const torch::Tensor& rows, int64_t chains, int64_t first,
                                    int64_t count) {
  if (!rows.defined() || rows.size(0) == 1) return rows;
  return rows_for_chains(rows, chains).narrow(0, first, count).contiguous();
}

}  // namespace isinglass
