// See interrupt.h.
#include "cli/interrupt.h"

#include <csignal>

namespace isinglass {
namespace {

volatile std::sig_atomic_t received = 0;

void note_signal(int) {
  received = 1;
}

}  // namespace

void watch_signals() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A file above the size limit is then an error of write(), which names the file.
  std::signal(SIGXFSZ, SIG_IGN);
}

bool interrupted() {
  return received != 0;
}

}  // namespace isinglass
