// Makes OpenMP's threads sleep soon when they wait for one another. GNU's library lets them spin
// for milliseconds by default. If other processes use the machine, a spinning thread occupies the
// core that the thread it waits for needs: steps became 17 times slower next to two busy processes.
//
// The library reads GOMP_SPINCOUNT when it is loaded, before main(). Therefore the program restarts
// itself with the variable set. It does so from .preinit_array, before any library has been
// initialised; loading up to there takes about 10 ms. GOMP_SPINCOUNT and OMP_WAIT_POLICY are
// respected if the user sets them.
#include <unistd.h>

#include <cstring>

namespace isinglass {
namespace {

// A waiting thread spins for this many rounds of about 30 to 140 clock cycles before it sleeps. If
// the parts of a loop are equal, all threads reach its barrier within a few microseconds, whereas
// falling asleep and waking up takes about 50 microseconds.
char spin_count[] = "GOMP_SPINCOUNT=1000";

// Returns true if an entry of the environment begins with the variable, such as "NAME=".
bool names(const char* entry, const char* variable) {
  return std::strncmp(entry, variable, std::strlen(variable)) == 0;
}

// Uses no function that needs an initialised C library.
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
  // This returns only if it failed; then the program goes on unchanged.
  execve("/proc/self/exe", argv, environment);
}

__attribute__((section(".preinit_array"),
               used)) void (*const preinit)(int, char**, char**) = start_with_short_waits;

}  // namespace
}  // namespace isinglass
