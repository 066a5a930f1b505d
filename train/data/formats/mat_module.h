// The C interface of libisinglass_mat.so, the library that holds matio.
#pragma once

#include <cstddef>

namespace isinglass {

inline constexpr const char* kMatLibrary = "libisinglass_mat.so";
inline constexpr const char* kMatReadSymbol = "isinglass_mat_read";

// Writes the `count` numbers of the array `name` of a MATLAB 5 file, column-major. Returns null, or
// what went wrong (valid until the next call). Calls must not overlap.
using MatRead = const char*(const char* file, const char* name, size_t count, double* values);

}  // namespace isinglass
