// Defines the event that CMakeLists.txt writes into the copy of Philox's header. The compiler
// includes this file before every source that is counted. The increment is assembly that touches no
// other memory, so that the compiler keeps the same values in registers as without it.
#pragma once

#include <cstdint>

namespace simt {
inline uint64_t philox_events = 0;  // of all threads
}

#define ISINGLASS_EVENT(name) asm volatile("incq %0" : "+m"(::simt::name##_events) : : "cc")
