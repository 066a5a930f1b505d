// Lets OpenMP's threads sleep soon where they wait for one another. GNU's library lets them spin
// for milliseconds by default, and where other processes use the machine, a thread that spins holds
// the core that the one it waits for needs: steps became 17 times slower beside two busy processes.
//
// The library reads GOMP_SPINCOUNT when it is loaded, before main(). So the program starts itself
// anew with the variable set, from .preinit_array, before any library has been initialised: loading
// takes some 10 ms until there. Users who set GOMP_SPINCOUNT or OMP_WAIT_POLICY have their way.
#include <unistd.h>

#include <cstring>

namespace isinglass {
namespace {

// Rounds of some 30 to 140 clock cycles each: a barrier of loops of equal length is reached by all
// within a few microseconds, and falling asleep and waking takes some 50.
char spin_count[] = "GOMP_SPINCOUNT=1000";

bool names(const char* entry, const char* variable) {
  return std::strncmp(entry, variable, std::strlen(variable)) == 0;
}

// Uses no function that needs the C library initialised.
void start_with_short_waits(int, char** argv, char** envp) {
  constexpr int kMost = 4096;
  static char* environment[kMost + 2];
  int count = 0;
  for (; envp[count]; ++count) {
    if (names(envp[count], "GOMP_SPINCOUNT=") || names(envp[count], "OMP_WAIT_POLICY=")) return;
    if (count == kMost) return;
    environment[count] = envp[count];
  }
  environment[count] = spin_count;
  execve("/proc/self/exe", argv, environment);  // returns only if it failed: then as it is
}

__attribute__((section(".preinit_array"),
               used)) void (*const preinit)(int, char**, char**) = start_with_short_waits;

}  // namespace
}  // namespace isinglass
