// Runs the real program (environment variable ISINGLASS_BINARY) as a subprocess.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace isinglass {

struct Outcome {
  int exit_code = -1;  // 128 + the signal that ended it
  std::string out, err;
};

struct Launch {
  std::optional<size_t> largest_file = std::nullopt;  // RLIMIT_FSIZE, bytes
  std::filesystem::path directory = {};               // working directory; empty: the caller's
};

// A running program. Its output goes to files, so that it never waits for a reader.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments, const Launch& launch = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Waits until the condition holds; false if the program ended before.
  template <class Condition>
  bool reaches(Condition condition) {
    while (!condition()) {
      if (!running()) return false;
      pause_briefly();
    }
    return true;
  }

  void signal(int number);
  bool running();
  Outcome wait();

 private:
  static void pause_briefly();

  std::filesystem::path scratch_;
  pid_t process_;
  bool ended_ = false;
  int status_ = 0;
};

Outcome run_program(const std::vector<std::string>& arguments, const Launch& launch = {});

// Runs a command line that is split at spaces, for readability.
Outcome run_program(const std::string& arguments, const Launch& launch = {});
std::vector<std::string> words(const std::string& text);

// An empty directory for one test, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string file_bytes(const std::filesystem::path& file);

// Returns the number of lines that are not empty.
int line_count(const std::string& text);

}  // namespace isinglass
