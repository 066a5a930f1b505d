#include "train/data/formats/mat_module.h"

#include <matio.h>

#include <algorithm>
#include <memory>
#include <string>

namespace {

// matio prints to stdout and stderr unless it is given this; what it says is an error of the file.
std::string complaint;
void keep_complaint(int, char* message) {
  complaint = message;
}

template <class T>
void copy_as_double(const matvar_t& array, size_t count, double* values) {
  std::copy_n(static_cast<const T*>(array.data), count, values);
}

bool convert(const matvar_t& array, size_t count, double* values) {
  switch (array.data_type) {
    case MAT_T_INT8:
      copy_as_double<int8_t>(array, count, values);
      return true;
    case MAT_T_UINT8:
      copy_as_double<uint8_t>(array, count, values);
      return true;
    case MAT_T_INT16:
      copy_as_double<int16_t>(array, count, values);
      return true;
    case MAT_T_UINT16:
      copy_as_double<uint16_t>(array, count, values);
      return true;
    case MAT_T_INT32:
      copy_as_double<int32_t>(array, count, values);
      return true;
    case MAT_T_UINT32:
      copy_as_double<uint32_t>(array, count, values);
      return true;
    case MAT_T_INT64:
      copy_as_double<int64_t>(array, count, values);
      return true;
    case MAT_T_UINT64:
      copy_as_double<uint64_t>(array, count, values);
      return true;
    case MAT_T_SINGLE:
      copy_as_double<float>(array, count, values);
      return true;
    case MAT_T_DOUBLE:
      copy_as_double<double>(array, count, values);
      return true;
    default:
      return false;
  }
}

}  // namespace

extern "C" const char* isinglass_mat_read(const char* file, const char* name, size_t count,
                                          double* values) {
  complaint.clear();
  Mat_LogInitFunc("isinglass", keep_complaint);
  const std::unique_ptr<mat_t, int (*)(mat_t*)> mat(Mat_Open(file, MAT_ACC_RDONLY), Mat_Close);
  if (!mat) return "matio cannot open it";
  const std::unique_ptr<matvar_t, void (*)(matvar_t*)> array(Mat_VarRead(mat.get(), name),
                                                             Mat_VarFree);
  if (!complaint.empty()) return complaint.c_str();
  if (!array || !array->data || array->isComplex ||
      array->nbytes != count * static_cast<size_t>(array->data_size) ||
      !convert(*array, count, values)) {
    return "matio finds no such array";
  }
  return nullptr;
}
