// Reserves memory that every OpenMP thread keeps between calls (CPU). An exception must not leave a
// parallel region, so that running out of memory there would end the process. The caller therefore
// reserves the memory before it starts the region.
#pragma once

#include <cstdint>
#include <exception>

namespace isinglass::cpu {

// Calls reserve(), which makes room for `count` elements. If `parallel`, calls it on all threads,
// but only if `count` exceeds `reserved`, which is then set to `count`. An exception thrown on a
// thread is rethrown to the caller.
template <class Reserve>
void reserve_on_threads(bool parallel, int64_t& reserved, int64_t count, const Reserve& reserve) {
  if (!parallel) return reserve();
  if (count <= reserved) return;
  std::exception_ptr failure;
#pragma omp parallel
  {
    try {
      reserve();
    } catch (...) {
#pragma omp critical(isinglass_reserve)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  reserved = count;
}

}  // namespace isinglass::cpu
