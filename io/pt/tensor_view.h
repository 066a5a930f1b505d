// Makes tensors on a storage that was read from a file, none of whose numbers are trusted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/torch.h"

namespace isinglass {

// Returns the element type of a torch.*Storage class, given its name ("torch.FloatStorage"), if it
// is a real or integer one (UntypedStorage counts bytes).
std::optional<torch::ScalarType> storage_type(std::string_view global);

// Returns a tensor whose element (i_0, …) is at storage position offset + Σ i_d·strides[d]
// (in elements). Every position is checked in 128-bit arithmetic to be inside the storage. A view
// that repeats elements (stride 0) must not expand to an excessive size. Throws Error whose message
// lacks the subject.
torch::Tensor checked_view(const c10::Storage& storage, torch::ScalarType type, int64_t offset,
                           const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides);

}  // namespace isinglass
