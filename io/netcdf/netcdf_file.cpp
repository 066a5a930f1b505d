// Implements the interface by calls of the library that contains HDF5.
#include "io/netcdf/netcdf_file.h"

#include "io/beside.h"
#include "io/error.h"
#include "io/files.h"
#include "io/netcdf/netcdf_module.h"

namespace isinglass {
namespace {

NetcdfWrite* module_write() {
  static auto* const write = reinterpret_cast<NetcdfWrite*>(
      symbol_beside(kNetcdfLibrary, kNetcdfWriteSymbol, "a NetCDF file", "libhdf5-103-1"));
  return write;
}

NetcdfType type_of(const torch::Tensor& values) {
  switch (values.scalar_type()) {
    case torch::kUInt8:
      return NetcdfType::kUint8;
    case torch::kInt64:
      return NetcdfType::kInt64;
    case torch::kFloat32:
      return NetcdfType::kFloat32;
    default:
      TORCH_INTERNAL_ASSERT(values.scalar_type() == torch::kFloat64);
      return NetcdfType::kFloat64;
  }
}

// Returns a description that points into the variable, which has to outlive it.
NetcdfArray array_of(const NetcdfVariable& variable) {
  const torch::Tensor& values = variable.values;
  TORCH_INTERNAL_ASSERT(values.is_contiguous() && values.numel() > 0 && values.dim() >= 2 &&
                        values.dim() <= 3);
  NetcdfArray array{variable.name.c_str(),  type_of(values), variable.dimensions.size(), {}, {},
                    values.const_data_ptr()};
  for (size_t i = 0; i < array.rank; ++i) {
    const size_t in_memory = i < 2 ? 1 - i : i;
    array.dimensions[i] = variable.dimensions[i].c_str();
    array.sizes[i] = static_cast<uint64_t>(values.size(static_cast<int64_t>(in_memory)));
  }
  return array;
}

NetcdfAttribute attribute_of(const NetcdfAttributes::value_type& named) {
  const auto& [name, value] = named;
  if (const auto* text = std::get_if<std::string>(&value)) return {name.c_str(), text->c_str(), 0};
  return {name.c_str(), nullptr, std::get<int64_t>(value)};
}

}  // namespace

void require_netcdf() {
  module_write();
}

void write_netcdf(const std::filesystem::path& file, const std::vector<NetcdfGroup>& groups,
                  const NetcdfAttributes& attributes) {
  std::vector<std::vector<NetcdfArray>> arrays;
  std::vector<NetcdfContent> contents;
  for (const NetcdfGroup& group : groups) {
    std::vector<NetcdfArray>& own = arrays.emplace_back();
    for (const NetcdfVariable& variable : group.variables) own.push_back(array_of(variable));
    contents.push_back({group.name.c_str(), own.data(), own.size()});
  }
  std::vector<NetcdfAttribute> described;
  for (const auto& named : attributes) described.push_back(attribute_of(named));

  AtomicFile out(file);
  const char* problem = module_write()(out.part().c_str(), contents.data(), contents.size(),
                                       described.data(), described.size());
  require(problem == nullptr, "cannot write {}: HDF5: {}", file.string(), problem);
  out.commit();
}

}  // namespace isinglass
