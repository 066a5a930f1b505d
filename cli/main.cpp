// The program `isinglass`. It sets up the process, runs a subcommand, and turns an exception into
// an exit code and one line on stderr.
//
//   0 success · 1 internal error · 2 bad usage or bad input · 3 numerical failure · 130 interrupted
#include <ATen/Parallel.h>
#include <c10/util/Logging.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "cli/commands/commands.h"
#include "cli/job.h"
#include "cli/terminal/interrupt.h"
#include "io/error.h"
#include "lab/identity.h"
#include "models/full_precision.h"

namespace isinglass {
namespace {

// Collects LibTorch's warnings, each once, and shows them only after the command has succeeded, so
// that an error is a single line.
class HeldWarnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    const std::string& message = warning.msg();
    if (std::find(held_.begin(), held_.end(), message) == held_.end()) held_.push_back(message);
  }
  void show() const {
    for (const std::string& message : held_) {
      fmt::print(stderr, "isinglass: warning: {}\n", message.substr(0, message.find('\n')));
    }
  }

 private:
  std::vector<std::string> held_;
};

// Makes glibc keep freed memory. Otherwise it returns the memory of activations to the system at
// every model evaluation.
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_TOP_PAD, 256 << 20);
}

void use_threads(int count) {
  at::set_num_threads(count);
  omp_set_num_threads(count);
}

std::string general_help() {
  std::string text = "usage: isinglass SUBCOMMAND [--flag value]...\n\nsubcommands\n";
  for (const Command& command : commands()) {
    text += fmt::format("  {:<10} {}\n", command.name, command.summary);
  }
  return text +
         "\n"
         "isinglass SUBCOMMAND --help lists the flags of a subcommand.\n"
         "isinglass --version prints the version.\n";
}

bool asks_for_help(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const std::string& a) { return a == "--help" || a == "-h"; });
}

void print_result(const std::string& text) {
  if (!is_rank0()) return;
  const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  require(written, "standard output cannot be written");
}

void run_program(const std::vector<std::string>& arguments, const HeldWarnings& warnings) {
  const auto names = [] {
    std::vector<std::string> list;
    for (const Command& command : commands()) list.push_back(command.name);
    return fmt::format("{}", fmt::join(list, ", "));
  };
  find_job();
  require(!arguments.empty(), "a subcommand is needed; known: {}", names());
  if (arguments[0] == "--version") {
    return print_result(fmt::format("isinglass {} ({})\n", kProgramVersion, program_revision()));
  }
  if (arguments[0] == "--help" || arguments[0] == "-h") return print_result(general_help());
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (asks_for_help(rest)) return print_result(help_text(find_command(arguments[0]), rest));
  join_job(arguments);
  const Command& command = find_command(arguments[0]);
  require(command.by_ranks || !present_job(),
          "isinglass {} requires a single process, but there are {} ranks", command.name,
          present_job()->place().size);
  const Options options = parse_options(command, rest);
  use_threads(threads_of(options.integer("threads")));
  print_result(command.run(options));
  if (!quiet(options)) warnings.show();
  leave_job();
}

int run_and_report(const std::vector<std::string>& arguments, const HeldWarnings& warnings) {
  try {
    run_program(arguments, warnings);
    return 0;
  } catch (...) {
    Failure failure = failure_of(std::current_exception());
    std::string& line = failure.message;
    std::replace(line.begin(), line.end(), '\n', ' ');
    const bool several = !report_prefix().empty();
    if (!reports(failure)) return failure.code;
    const std::string who = failure.kind == kInterrupted ? "" : report_prefix();
    fmt::print(stderr, "isinglass: {}{}{}\n", who, failure.kind, line);
    std::fflush(stderr);
    if (several) _exit(failure.code);
    return failure.code;
  }
}

}  // namespace
}  // namespace isinglass

int main(int argc, char** argv) {
  isinglass::keep_freed_memory();
  isinglass::watch_signals();
  FLAGS_caffe2_log_level = 3;  // LibTorch logs fatal errors only
  static isinglass::HeldWarnings warnings;
  c10::WarningUtils::set_warning_handler(&warnings);
  const isinglass::FullPrecision full;
  const int code = isinglass::run_and_report({argv + 1, argv + argc}, warnings);
  // The destructors of static objects are skipped. LibTorch's take a tenth of a second to free
  // memory that the system frees anyway, and they crash if the profiler's thread is still reading
  // its settings.
  std::fflush(nullptr);
  std::_Exit(code);
}
