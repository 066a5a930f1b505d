// Progress on stderr: a live bar with rate and remaining time on a terminal, a plain line every few
// seconds elsewhere, and nothing with --quiet.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

namespace isinglass {

// Formats seconds for people: "43 h", "20 min", "45 s".
std::string long_duration(double seconds);

// The rate of the last minute, so that the first step, which may prepare much, and a change of pace
// do not spoil what it foretells.
class RecentRate {
 public:
  // Notes that so many steps were done at a time [s]. Times ascend.
  void note(double seconds, int64_t done);
  // Returns the steps per second; 0 until it has seen two seconds with a step in them.
  double per_second() const;

 private:
  struct Mark {
    double seconds;
    int64_t done;
  };
  std::deque<Mark> marks_;
};

class Progress {
 public:
  // total: the number of steps of the run. already: those that an earlier run has done.
  Progress(std::string label, int64_t total, bool quiet, int64_t already = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Returns true if it is time for another line; update() shows nothing before.
  bool due() const;

  // Reports that `done` steps of the total are done. `note` ends the line ("loss 1.2").
  void update(int64_t done, const std::string& note = "");

  // Prints a line of its own above the bar, unless the progress is quiet. The line ends in \n.
  void interrupt(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;

  void show(const std::string& note);

  std::string label_;
  int64_t total_, done_;
  bool quiet_, terminal_;
  bool shown_ = false, begun_ = false;
  Clock::time_point start_, last_;
  RecentRate rate_;
};

}  // namespace isinglass
