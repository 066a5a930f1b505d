// Implements running the program as a subprocess.
#include "tests/support/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace isinglass {
namespace {

namespace fs = std::filesystem;

fs::path make_scratch() {
  std::string pattern = (fs::temp_directory_path() / "isinglass-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary directory");
  return pattern;
}

// Runs between fork and exec, and makes only calls that are safe there.
[[noreturn]] void become(char* const* argv, const char* out, const char* err, const Launch& launch,
                         const char* directory) {
  dup2(open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
  dup2(open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
  if (launch.largest_file) {
    const rlimit limit = {*launch.largest_file, *launch.largest_file};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (*directory && chdir(directory) != 0) _exit(126);
  execv(argv[0], argv);
  _exit(127);
}

}  // namespace

Program::Program(const std::vector<std::string>& arguments, const Launch& launch)
    : scratch_(make_scratch()) {
  const char* binary = getenv("ISINGLASS_BINARY");
  if (!binary) throw std::runtime_error("ISINGLASS_BINARY is not set");
  std::vector<std::string> all = {binary};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : all) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const std::string out = scratch_ / "out", err = scratch_ / "err", directory = launch.directory;
  process_ = fork();
  if (process_ == 0) become(argv.data(), out.c_str(), err.c_str(), launch, directory.c_str());
  if (process_ < 0) throw std::runtime_error("fork failed");
}

Program::~Program() {
  signal(SIGKILL);
  if (!ended_) waitpid(process_, &status_, 0);
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
}

bool Program::running() {
  if (!ended_) ended_ = waitpid(process_, &status_, WNOHANG) == process_;
  return !ended_;
}

void Program::pause_briefly() {
  usleep(500);
}

void Program::signal(int number) {
  if (running()) kill(process_, number);
}

Outcome Program::wait() {
  if (!ended_) waitpid(process_, &status_, 0);
  ended_ = true;
  return {WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_),
          file_bytes(scratch_ / "out"), file_bytes(scratch_ / "err")};
}

Outcome run_program(const std::vector<std::string>& arguments, const Launch& launch) {
  return Program(arguments, launch).wait();
}

Outcome run_program(const std::string& arguments, const Launch& launch) {
  return run_program(words(arguments), launch);
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> list;
  for (std::string word; in >> word;) list.push_back(word);
  return list;
}

TemporaryDirectory::TemporaryDirectory() : path_(make_scratch()) {}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string file_bytes(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

int line_count(const std::string& text) {
  std::istringstream in(text);
  int count = 0;
  for (std::string line; std::getline(in, line);) count += !line.empty();
  return count;
}

}  // namespace isinglass
