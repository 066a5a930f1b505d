// Starts tests/support/faulty_server.py for the lifetime of an object.
#pragma once

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>

#include "io/error.h"
#include "tests/support/source_tree.h"

extern char** environ;

namespace isinglass {

class FaultyServer {
 public:
  explicit FaultyServer(const std::filesystem::path& folder) {
    std::array<int, 2> input, output;
    require(pipe(input.data()) == 0 && pipe(output.data()) == 0, "no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    std::string program = "python3", quiet = "-B",
                script = source_tree() / "tests/support/faulty_server.py", served = folder;
    std::array<char*, 5> arguments = {program.data(), quiet.data(), script.data(), served.data(),
                                      nullptr};
    const int error =
        posix_spawnp(&process_, "python3", &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    require(error == 0, "python3 does not start");
    close(input[0]);
    close(output[1]);
    input_ = input[1];
    char digit = 0;
    while (read(output[0], &digit, 1) == 1 && digit != '\n') port_ += digit;
    close(output[0]);
    require(!port_.empty(), "the server does not say its port");
  }
  ~FaultyServer() {
    close(input_);
    kill(process_, SIGTERM);
    waitpid(process_, nullptr, 0);
  }
  FaultyServer(const FaultyServer&) = delete;
  FaultyServer& operator=(const FaultyServer&) = delete;

  std::string address(const std::string& behaviour) const {
    return "http://127.0.0.1:" + port_ + "/" + behaviour;
  }

 private:
  pid_t process_ = -1;
  int input_ = -1;
  std::string port_;
};

}  // namespace isinglass
