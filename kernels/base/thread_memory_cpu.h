// Memory that every thread keeps for itself between calls (CPU). An exception may not leave a
// parallel region, where the end of memory would be the end of the process: what begins one
// reserves before.
#pragma once

#include <cstdint>
#include <exception>

namespace isinglass::cpu {

// Calls reserve(), which makes room for `count`: for a parallel region on all threads, where
// `count` is more than `reserved`, which becomes `count`. What a thread throws is thrown here.
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
