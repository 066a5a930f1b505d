// Replaces the program ISINGLASS_WARM_PROGRAM in tests. It asks a server (server.cpp) to run the
// program with this command line, environment, directory and streams, forwards signals, and ends
// with the program's status. The first client starts the server. Everything else that a process
// inherits (limits, CPUs, what OpenMP and LibTorch read from the environment when they are loaded)
// must equal the server's own, so that there is one server for each such state.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstdio>

#include "tests/support/warm/request.h"

namespace {

using isinglass::warm::Request;

constexpr int kForwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
constexpr const char* kReadWhileLoading[] = {"OMP_",  "GOMP_",  "KMP_",    "MKL_",  "LD_",
                                             "CUDA_", "GLIBC_", "MALLOC_", "TORCH", "PYTORCH_"};

// The FNV-1a hash of everything that a server must have in common with its callers.
class State {
 public:
  void add(const void* bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      hash_ = (hash_ ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3;
    }
  }
  std::string name() const { return "isinglass-warm-" + std::to_string(hash_); }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

void add_files(State& state) {
  for (const char* file : {ISINGLASS_WARM_PROGRAM, ISINGLASS_WARM_SERVER}) {
    struct stat about = {};
    stat(file, &about);
    state.add(file, strlen(file));
    state.add(&about.st_dev, sizeof about.st_dev);
    state.add(&about.st_ino, sizeof about.st_ino);
    state.add(&about.st_mtim, sizeof about.st_mtim);
  }
}

void add_inherited(State& state) {
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  const bool ignored = hangup.sa_handler == SIG_IGN;
  state.add(&ignored, sizeof ignored);
  for (int limit = 0; limit < RLIM_NLIMITS; ++limit) {
    rlimit value = {};
    getrlimit(static_cast<__rlimit_resource>(limit), &value);
    state.add(&value, sizeof value);
  }
  cpu_set_t processors;
  CPU_ZERO(&processors);
  sched_getaffinity(0, sizeof processors, &processors);
  state.add(&processors, sizeof processors);
  const mode_t mask = umask(0);
  umask(mask);
  state.add(&mask, sizeof mask);
  const uid_t user = getuid();
  state.add(&user, sizeof user);
  const int nice = getpriority(PRIO_PROCESS, 0);
  state.add(&nice, sizeof nice);
}

std::string address_of_state() {
  State state;
  add_files(state);
  add_inherited(state);
  for (char** entry = environ; *entry; ++entry) {
    for (const char* prefix : kReadWhileLoading) {
      if (strncmp(*entry, prefix, strlen(prefix)) == 0) state.add(*entry, strlen(*entry) + 1);
    }
  }
  return state.name();
}

// Starts the server, which outlives its first caller and keeps none of its files open.
void start_server(const std::string& name) {
  if (fork() != 0) {
    wait(nullptr);
    return;
  }
  setsid();
  if (fork() != 0) _exit(0);
  const int nowhere = open("/dev/null", O_RDWR);
  for (int stream = 0; stream < 3; ++stream) dup2(nowhere, stream);
  close_range(3, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (chdir("/") != 0) _exit(126);
  setenv("LD_PRELOAD", ISINGLASS_WARM_SERVER, 1);
  setenv(isinglass::warm::kAddressVariable, name.c_str(), 1);
  execl(ISINGLASS_WARM_PROGRAM, ISINGLASS_WARM_PROGRAM, static_cast<char*>(nullptr));
  _exit(127);
}

int connect_to(const std::string& name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path + 1, name.c_str(), sizeof address.sun_path - 2);
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return connection;
  }
  close(connection);
  return -1;
}

// Returns the process id and sets `connection`; returns 0 if no server answers within a minute.
int32_t ask(const Request& request, int& connection) {
  const std::string name = address_of_state();
  constexpr int kTries = 6000;
  for (int i = 0; i < kTries; ++i) {
    connection = connect_to(name);
    int32_t process = 0;
    if (connection >= 0 && send_request(connection, request) &&
        isinglass::warm::read_all(connection, &process, sizeof process)) {
      return process;
    }
    if (connection >= 0) {
      close(connection);  // the server was about to end
    } else if (i % 1000 == 0) {
      start_server(name);
    }
    usleep(10000);
  }
  return 0;
}

[[noreturn]] void end_as(int status) {
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  signal(WTERMSIG(status), SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  raise(WTERMSIG(status));
  _exit(128 + WTERMSIG(status));
}

}  // namespace

int main(int argc, char** argv) {
  sigset_t forwarded;
  sigemptyset(&forwarded);
  for (const int number : kForwarded) sigaddset(&forwarded, number);
  sigprocmask(SIG_BLOCK, &forwarded, nullptr);
  const int signals = signalfd(-1, &forwarded, SFD_CLOEXEC);

  Request request = {{argv, argv + argc}, {}, {0, 1, 2, open(".", O_PATH | O_CLOEXEC)}};
  for (char** entry = environ; *entry; ++entry) request.environment.emplace_back(*entry);
  int connection = -1;
  const int32_t process = ask(request, connection);
  if (process == 0) {
    std::fputs("no server of warm starts answers\n", stderr);
    return 125;
  }
  for (;;) {
    pollfd waits[2] = {{connection, POLLIN, 0}, {signals, POLLIN, 0}};
    poll(waits, 2, -1);
    if (waits[0].revents) break;
    signalfd_siginfo signal = {};
    if (read(signals, &signal, sizeof signal) == sizeof signal) {
      kill(process, static_cast<int>(signal.ssi_signo));
    }
  }
  int32_t status = 0;
  if (!isinglass::warm::read_all(connection, &status, sizeof status)) return 125;
  end_as(status);
}
