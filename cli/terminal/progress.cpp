// Implements the progress bar.
#include "cli/terminal/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace isinglass {
namespace {

constexpr int kBarWidth = 24;
constexpr double kRecent = 60, kLeastSeconds = 2;  // of RecentRate

std::string duration(double seconds) {
  const auto s = std::llround(seconds);
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

std::string rate_text(double per_second) {
  if (per_second >= 1) return fmt::format("{:.4g}/s", per_second);
  return fmt::format("{:.3g} s each", 1 / per_second);
}

}  // namespace

std::string long_duration(double seconds) {
  if (seconds >= 2 * 3600) return fmt::format("{} h", std::llround(seconds / 3600));
  if (seconds >= 120) return fmt::format("{} min", std::llround(seconds / 60));
  return fmt::format("{} s", std::llround(seconds));
}

void RecentRate::note(double seconds, int64_t done) {
  marks_.push_back({seconds, done});
  while (marks_.size() > 2 && seconds - marks_[1].seconds >= kRecent) marks_.pop_front();
}

double RecentRate::per_second() const {
  if (marks_.empty()) return 0;
  const Mark &first = marks_.front(), &last = marks_.back();
  const double seconds = last.seconds - first.seconds;
  return seconds >= kLeastSeconds ? static_cast<double>(last.done - first.done) / seconds : 0;
}

Progress::Progress(std::string label, int64_t total, bool quiet, int64_t already)
    : label_(std::move(label)),
      total_(total),
      done_(already),
      quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (shown_ && terminal_) std::fputc('\n', stderr);
}

bool Progress::due() const {
  if (quiet_) return false;
  const auto interval = std::chrono::milliseconds(terminal_ ? 100 : 5000);
  return Clock::now() - last_ >= interval;
}

void Progress::update(int64_t done, const std::string& note) {
  done_ = done;
  if (quiet_) return;
  const bool first = !begun_;
  begun_ = true;
  const bool finished = done_ >= total_ && terminal_ && shown_;  // the full bar is shown
  if (!(first || finished || due())) return;
  const Clock::time_point now = Clock::now();
  rate_.note(std::chrono::duration<double>(now - start_).count(), done_);
  if (!(finished || due())) return;
  last_ = now;
  show(note);
}

void Progress::interrupt(const std::string& line) {
  if (quiet_) return;
  std::fputs(fmt::format("{}{}", shown_ && terminal_ ? "\r\033[K" : "", line).c_str(), stderr);
  std::fflush(stderr);
}

void Progress::show(const std::string& note) {
  const double rate = rate_.per_second();
  const double fraction =
      total_ > 0 ? static_cast<double>(done_) / static_cast<double>(total_) : 1.0;
  std::string line = fmt::format("{} {}/{}", label_, done_, total_);
  if (terminal_) {
    const int filled = std::clamp(static_cast<int>(fraction * kBarWidth), 0, kBarWidth);
    line += fmt::format(" [{:=<{}}{: <{}}]", "", filled, "", kBarWidth - filled);
  }
  line += fmt::format(" {:3.0f}%", 100 * fraction);
  if (rate > 0) {
    line += fmt::format("  {}  {} left", rate_text(rate),
                        duration(static_cast<double>(total_ - done_) / rate));
  }
  if (!note.empty()) line += "  " + note;
  // Errors are ignored: a terminal that was closed is no reason to end the run.
  std::fputs(
      fmt::format("{}{}{}", terminal_ ? "\r" : "", line, terminal_ ? "\033[K" : "\n").c_str(),
      stderr);
  std::fflush(stderr);
  shown_ = true;
}

}  // namespace isinglass
