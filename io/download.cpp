// Implements downloads: starts curl, and reads what it writes to two pipes.
#include "io/download.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <utility>
#include <vector>

#include "io/error.h"

extern char** environ;

namespace isinglass {
namespace {

// Exit codes of curl (its manual, "EXIT CODES").
constexpr int kHttpError = 22, kRangeError = 33, kBadResume = 36;

class Pipe {
 public:
  Pipe() { require(pipe2(ends_.data(), O_CLOEXEC) == 0, "a pipe: {}", std::strerror(errno)); }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_end(int end) {
    if (ends_[end] >= 0) close(std::exchange(ends_[end], -1));
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

// A running curl. It is ended with the object.
class Curl {
 public:
  explicit Curl(std::vector<std::string> arguments) {
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, body_.writer(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, notes_.writer(), STDERR_FILENO);
    const int error = posix_spawnp(&process_, "curl", &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    require(error == 0,
            "downloads need the program curl, which Debian's package curl contains, and it cannot "
            "be started: {}",
            std::strerror(error));
    body_.close_end(1);
    notes_.close_end(1);
  }
  ~Curl() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    wait();
  }
  Curl(const Curl&) = delete;
  Curl& operator=(const Curl&) = delete;

  // Reads what has arrived, and waits up to a tenth of a second for it. Returns false at the end of
  // both pipes.
  bool read(std::string& body, std::string& notes) {
    std::array<pollfd, 2> pipes = {{{body_.reader(), POLLIN, 0}, {notes_.reader(), POLLIN, 0}}};
    if (poll(pipes.data(), pipes.size(), 100) > 0) {
      read_from(pipes[0], body_, body);
      read_from(pipes[1], notes_, notes);
    }
    return body_.reader() >= 0 || notes_.reader() >= 0;
  }

  // Returns the exit code, or minus the signal that ended curl.
  int wait() {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  static void read_from(const pollfd& polled, Pipe& pipe, std::string& text) {
    if (polled.revents == 0) return;
    constexpr size_t kChunk = size_t{1} << 16;
    const size_t before = text.size();
    text.resize(before + kChunk);
    const ssize_t got = ::read(pipe.reader(), text.data() + before, kChunk);
    text.resize(before + std::max<ssize_t>(got, 0));
    if (got == 0 || (got < 0 && errno != EINTR)) pipe.close_end(0);
  }

  Pipe body_, notes_;
  pid_t process_ = -1;
};

// Returns the length of the body that the last answer among the headers announces [bytes]; 0 if it
// announces none.
int64_t announced_length(const std::string& notes) {
  constexpr std::string_view kName = "\ncontent-length:";
  const size_t answer = notes.rfind("HTTP/");
  std::string headers = answer == std::string::npos ? "" : notes.substr(answer);
  std::transform(headers.begin(), headers.end(), headers.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  const size_t name = headers.find(kName);
  if (name == std::string::npos) return 0;
  const size_t digits = headers.find_first_not_of(' ', name + kName.size());
  int64_t length = 0;
  if (digits != std::string::npos) {
    std::from_chars(headers.data() + digits, headers.data() + headers.size(), length);
  }
  return length;
}

// Returns the failure that curl names in its last line, "curl: (22) The requested URL …".
std::string failure_in(const std::string& notes, int code) {
  if (code < 0) return fmt::format("curl was ended by signal {}", -code);
  const size_t line = notes.rfind("curl: (");
  const size_t text = line == std::string::npos ? line : notes.find(") ", line);
  if (text == std::string::npos) return fmt::format("curl failed with exit code {}", code);
  return notes.substr(text + 2, notes.find('\n', text) - text - 2);
}

std::vector<std::string> command_line(const std::string& address, int64_t from, int64_t timeout) {
  std::istringstream words(fmt::format(
      "curl --disable --fail --silent --show-error --no-buffer --globoff --location "
      "--max-redirs 10 --proto =http,https --proto-redir =http,https --dump-header /dev/stderr "
      "--output - "
      "--connect-timeout {0} --speed-limit 1 --speed-time {0}",
      timeout));
  std::vector<std::string> arguments;
  for (std::string word; words >> word;) arguments.push_back(word);
  if (from > 0) arguments.insert(arguments.end(), {"--continue-at", std::to_string(from)});
  arguments.insert(arguments.end(), {"--url", address});
  return arguments;
}

}  // namespace

DownloadResult download(const std::string& address, ContinuedFile& part, int64_t timeout,
                        int64_t largest, const DownloadWatch& watch) {
  const int64_t from = part.size();
  Curl curl(command_line(address, from, timeout));
  std::string body, notes;
  int64_t total = 0;
  for (bool open = true; open;) {
    open = curl.read(body, notes);
    if (total == 0 && !body.empty()) {
      const int64_t length = announced_length(notes);
      total = length > 0 ? from + length : 0;
    }
    part.append(body);
    body.clear();
    if (part.size() > largest) {
      return {DownloadEnd::kFailed, fmt::format("it sends more than {} bytes", largest)};
    }
    if (!watch(part.size(), total)) return {DownloadEnd::kStopped};
  }
  const int code = curl.wait();
  if (code == 0) return {DownloadEnd::kComplete};
  const std::string reason = failure_in(notes, code);
  const bool past_the_end = code == kHttpError && reason.find("error: 416") != std::string::npos;
  if (from > 0 && (code == kRangeError || code == kBadResume || past_the_end)) {
    return {DownloadEnd::kNoResume, reason};
  }
  return {DownloadEnd::kFailed, reason};
}

}  // namespace isinglass
