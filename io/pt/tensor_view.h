// Tensors over a storage that came from a file: nothing about them is trusted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/torch.h"

namespace isinglass {

// The element type of a torch.*Storage class, by its name ("torch.FloatStorage"), if it is a real
// or integer one (UntypedStorage counts bytes).
std::optional<torch::ScalarType> storage_type(std::string_view global);

// A tensor whose element (i_0, …) lies at storage position offset + Σ i_d·strides[d] (in elements).
// Every position is inside the storage, checked in 128-bit arithmetic; a view that repeats elements
// (stride 0) may not unfold into an absurd size. Throws Error without a subject.
torch::Tensor checked_view(const c10::Storage& storage, torch::ScalarType type, int64_t offset,
                           const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides);

}  // namespace isinglass
