// Implements the writing of NetCDF-4 with HDF5. NetCDF-4 is HDF5 with dimension scales: a variable
// that has a dimension's name defines the dimension, and the other variables are attached to it
// ("The NetCDF-4 file format", Unidata). Unidata's own library would take fewer lines, but it
// cannot open a file whose lock the program holds, and it depends on about forty other libraries
// for networking and encryption.
#include "io/netcdf/netcdf_module.h"

#include <hdf5.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace isinglass {
namespace {

// Returns a status or identifier of HDF5. Throws an exception if it is negative, which means
// failure.
template <class Status>
Status checked(Status status, const char* what) {
  if (status < 0) throw std::runtime_error(what);
  return status;
}

class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const char* what)
      : id_(checked(id, what)), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  operator hid_t() const { return id_; }
  // Closes the object, with a check: the last bytes of a file reach the disk when it is closed.
  void close(const char* what) {
    const hid_t id = id_;
    id_ = -1;
    checked(close_(id), what);
  }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

hid_t type_of(NetcdfType type) {
  switch (type) {
    case NetcdfType::kUint8:
      return H5T_NATIVE_UINT8;
    case NetcdfType::kInt64:
      return H5T_NATIVE_INT64;
    case NetcdfType::kFloat32:
      return H5T_NATIVE_FLOAT;
    default:
      return H5T_NATIVE_DOUBLE;
  }
}

void write_attribute(hid_t group, const NetcdfAttribute& attribute) {
  const herr_t status =
      attribute.text
          ? H5LTset_attribute_string(group, ".", attribute.name, attribute.text)
          : H5LTset_attribute_long_long(group, ".", attribute.name,
                                        reinterpret_cast<const long long*>(&attribute.number), 1);
  checked(status, "an attribute cannot be written");
}

// Returns properties by which links keep their order of creation, as NetCDF-4 requires, and objects
// have no timestamps, so that equal runs give equal files.
Handle creation_plist(hid_t kind) {
  Handle plist(H5Pcreate(kind), H5Pclose, "a property list cannot be made");
  checked(H5Pset_obj_track_times(plist, false), "a property list cannot be made");
  if (kind != H5P_DATASET_CREATE) {
    checked(H5Pset_link_creation_order(plist, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
            "a property list cannot be made");
  }
  return plist;
}

Handle make_dataset(hid_t group, const char* name, hid_t type, const std::vector<hsize_t>& sizes) {
  const Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr),
                     H5Sclose, "a dataspace cannot be made");
  return {H5Dcreate2(group, name, type, space, H5P_DEFAULT, creation_plist(H5P_DATASET_CREATE),
                     H5P_DEFAULT),
          H5Dclose, "an array cannot be made"};
}

class Group {
 public:
  Group(hid_t file, const char* name)
      : group_(H5Gcreate2(file, name, H5P_DEFAULT, creation_plist(H5P_GROUP_CREATE), H5P_DEFAULT),
               H5Gclose, "a group cannot be made") {}

  hid_t id() const { return group_; }

  void write(const NetcdfArray& array) {
    const std::vector<hsize_t> sizes(array.sizes, array.sizes + array.rank);
    for (size_t i = 0; i < array.rank; ++i) make_dimension(array.dimensions[i], sizes[i]);
    const Handle dataset = make_dataset(group_, array.name, type_of(array.type), sizes);
    write_values(dataset, array, sizes);
    for (size_t i = 0; i < array.rank; ++i) {
      const Handle scale(H5Dopen2(group_, array.dimensions[i], H5P_DEFAULT), H5Dclose,
                         "a dimension cannot be opened");
      checked(H5DSattach_scale(dataset, scale, static_cast<unsigned>(i)),
              "a dimension cannot be attached to an array");
    }
  }

 private:
  void make_dimension(const std::string& name, hsize_t size) {
    if (!made_.insert({name, size}).second) return;
    const Handle dataset = make_dataset(group_, name.c_str(), H5T_NATIVE_INT64, {size});
    std::vector<int64_t> positions(size);
    std::iota(positions.begin(), positions.end(), 0);
    checked(H5Dwrite(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, positions.data()),
            "a dimension cannot be written");
    checked(H5DSset_scale(dataset, name.c_str()), "a dimension cannot be attached to an array");
  }

  // Writes one entry of the file's first dimension at a time. In memory this is the second
  // dimension; the selected elements are the same, and in the same order, in both.
  static void write_values(hid_t dataset, const NetcdfArray& array, std::vector<hsize_t> sizes) {
    const int rank = static_cast<int>(array.rank);
    const Handle in_file(H5Dget_space(dataset), H5Sclose, "a dataspace cannot be made");
    std::swap(sizes[0], sizes[1]);
    const Handle in_memory(H5Screate_simple(rank, sizes.data(), nullptr), H5Sclose,
                           "a dataspace cannot be made");
    for (hsize_t entry = 0; entry < sizes[1]; ++entry) {
      std::vector<hsize_t> from(array.rank, 0), count = sizes;
      from[1] = entry, count[1] = 1;
      checked(H5Sselect_hyperslab(in_memory, H5S_SELECT_SET, from.data(), nullptr, count.data(),
                                  nullptr),
              "a part of an array cannot be selected");
      std::swap(from[0], from[1]), std::swap(count[0], count[1]);
      checked(
          H5Sselect_hyperslab(in_file, H5S_SELECT_SET, from.data(), nullptr, count.data(), nullptr),
          "a part of an array cannot be selected");
      checked(H5Dwrite(dataset, type_of(array.type), in_memory, in_file, H5P_DEFAULT, array.values),
              "an array cannot be written");
    }
  }

  Handle group_;
  std::map<std::string, hsize_t> made_;
};

// Opens the file without HDF5's own locking, since the caller has created it and holds its lock.
Handle open_file(const char* name) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "a property list cannot be made");
  checked(H5Pset_file_locking(access, false, true), "a property list cannot be made");
  checked(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST),
          "a property list cannot be made");
  return {H5Fcreate(name, H5F_ACC_TRUNC, creation_plist(H5P_FILE_CREATE), access), H5Fclose,
          "the file cannot be opened"};
}

void write(const char* name, const NetcdfContent* groups, size_t group_count,
           const NetcdfAttribute* attributes, size_t attribute_count) {
  Handle file = open_file(name);
  const auto describe = [&](hid_t group) {
    std::for_each_n(attributes, attribute_count,
                    [&](const NetcdfAttribute& a) { write_attribute(group, a); });
  };
  describe(file);
  for (size_t g = 0; g < group_count; ++g) {
    Group group(file, groups[g].name);
    describe(group.id());
    for (size_t a = 0; a < groups[g].count; ++a) group.write(groups[g].arrays[a]);
  }
  file.close("the end of the file cannot be written");
}

}  // namespace
}  // namespace isinglass

extern "C" const char* isinglass_netcdf_write(const char* file,
                                              const isinglass::NetcdfContent* groups,
                                              size_t group_count,
                                              const isinglass::NetcdfAttribute* attributes,
                                              size_t attribute_count) {
  static std::string complaint;
  try {
    // This has to precede HDF5's start: if a full disk prevents HDF5 from closing a file, its
    // clean-up at the end of the program would print messages and loop.
    static const herr_t no_clean_up = H5dont_atexit();
    (void)no_clean_up;
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    isinglass::write(file, groups, group_count, attributes, attribute_count);
    return nullptr;
  } catch (const std::exception& error) {
    complaint = error.what();
    return complaint.c_str();
  }
}
