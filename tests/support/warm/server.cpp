// A library that, preloaded into a program (LD_PRELOAD), turns it into a server of itself. The
// program is loaded and linked once, its static objects are constructed once, and every request
// (request.h) is a fork that enters main() from there. LibTorch takes .4 s to get that far, and a
// fork takes some milliseconds. Tests that start the program a thousand times save a thousand times
// the difference.
//
// The server has one thread, and of the program's own code it has run only constructors. It ends
// when there has been no request for a while.
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tests/support/warm/request.h"

namespace {

using Main = int (*)(int, char**, char**);
using isinglass::warm::Request;

constexpr int kIdleMilliseconds = 30000;

Main program = nullptr;

int listen_at(const char* name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path + 1, name, sizeof address.sun_path - 2);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool ours =
      bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  return ours && listen(listener, 1000) == 0 ? listener : -1;  // not ours: another was faster
}

// Becomes the requested process: calls main() with the caller's streams, directory and environment.
int become(const Request& request, int connection) {
  for (int stream = 0; stream < 3; ++stream) dup2(request.files[stream], stream);
  if (fchdir(request.files[3]) != 0) _exit(126);
  for (const int file : request.files) close(file);
  close(connection);
  clearenv();
  static std::vector<std::string> environment, arguments;  // they live as long as the process
  environment = request.environment;
  arguments = request.arguments;
  for (std::string& entry : environment) putenv(entry.data());
  static std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  return program(static_cast<int>(arguments.size()), argv.data(), environ);
}

// Handles one request: starts the process and reports how it ends. If the caller disappears, the
// process is killed.
int serve(int connection) {
  signal(SIGCHLD, SIG_DFL);
  Request request;
  if (!receive_request(connection, request)) _exit(0);
  const pid_t child = fork();
  if (child == 0) return become(request, connection);
  const int32_t number = child;
  isinglass::warm::write_all(connection, &number, sizeof number);
  pollfd waits[2] = {{static_cast<int>(syscall(SYS_pidfd_open, child, 0)), POLLIN, 0},
                     {connection, POLLIN, 0}};
  poll(waits, 2, -1);
  if (!waits[0].revents) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  const int32_t end = status;
  isinglass::warm::write_all(connection, &end, sizeof end);
  _exit(0);
}

int serve_all(int, char**, char**) {
  const int listener = listen_at(getenv(isinglass::warm::kAddressVariable));
  if (listener < 0) _exit(0);
  signal(SIGCHLD, SIG_IGN);  // the children that serve are not waited for
  pollfd waits = {listener, POLLIN, 0};
  while (poll(&waits, 1, kIdleMilliseconds) > 0) {
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    if (fork() == 0) {
      close(listener);
      return serve(connection);
    }
    close(connection);
  }
  _exit(0);
}

}  // namespace

// Called at the start of every program, after the constructors of its libraries.
extern "C" int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                                 void (*rtld_fini)(), void* stack_end) {
  program = main;
  const auto next =
      reinterpret_cast<decltype(&__libc_start_main)>(dlsym(RTLD_NEXT, "__libc_start_main"));
  const bool serves = getenv(isinglass::warm::kAddressVariable) != nullptr;
  return next(serves ? serve_all : main, argc, argv, init, fini, rtld_fini, stack_end);
}
