// Defines the C interface of libisinglass_netcdf.so, the library that contains HDF5.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isinglass {

inline constexpr const char* kNetcdfLibrary = "libisinglass_netcdf.so";
inline constexpr const char* kNetcdfWriteSymbol = "isinglass_netcdf_write";

enum class NetcdfType : int { kUint8, kInt64, kFloat32, kFloat64 };

// Describes an array with two or three named dimensions. `values` are row-major in the order 1, 0,
// 2 of the dimensions: a run produces draws × chains, the file holds chains × draws.
struct NetcdfArray {
  const char* name;
  NetcdfType type;
  size_t rank;
  const char* dimensions[3];
  uint64_t sizes[3];
  const void* values;
};

struct NetcdfAttribute {
  const char* name;
  const char* text;  // if null, the value is `number`
  int64_t number;
};

struct NetcdfContent {
  const char* name;
  const NetcdfArray* arrays;
  size_t count;
};

// Writes the groups, each with the attributes and with a coordinate variable 0, 1, … for every
// dimension. Returns null, or a description of the failure (valid until the next call). Calls must
// not overlap.
using NetcdfWrite = const char*(const char* file, const NetcdfContent* groups, size_t group_count,
                                const NetcdfAttribute* attributes, size_t attribute_count);

}  // namespace isinglass
