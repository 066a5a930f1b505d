// The limit of changes (within.h) as the free sites of a restricted model have it, whose states are
// numbers of allowed values. Spare entries (fixed_sites.h) never differ.
#pragma once

#include "io/torch.h"

namespace isinglass {

struct DistanceLimit {
  // bool [N, A, K]: true if number c of entry i means another value than that of the reference.
  // Each row holds for as many consecutive chains.
  torch::Tensor differs;
  torch::Tensor most;  // int64 [N]: so many of the entries may differ; at least 0
};

}  // namespace isinglass
