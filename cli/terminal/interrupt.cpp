// Implements the signal handlers.
#include "cli/terminal/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string_view>

#include "io/files.h"

namespace isinglass {
namespace {

std::atomic<bool> received = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void note_signal(int number) {
  // A closed terminal may send SIGHUP twice, from the kernel and from the shell. Neither asks for
  // an immediate end.
  if (!received.exchange(true) || number == SIGHUP) return;
  remove_unfinished_files();
  constexpr std::string_view kLine =
      "isinglass: interrupted: a second signal ended "
      "the run at once; what was saved before is kept\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kLine.data(), kLine.size());
  _exit(130);
}

}  // namespace

void watch_signals() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before = {};
  sigaction(SIGHUP, nullptr, &before);
  // SIGHUP stays ignored under nohup.
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  // With SIGXFSZ ignored, a file above the size limit is an error of write(), which names the file.
  std::signal(SIGXFSZ, SIG_IGN);
}

bool interrupted() {
  return received;
}

}  // namespace isinglass
