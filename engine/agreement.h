// What any rank wishes (to stop, to save), granted by all before the same step.
//
// Every rank asks before every step. They tell each other about four times a second, and hear at one
// word what was said at the one before: nobody waits for the slowest rank, unless it is a whole word
// behind. The number of steps from one word to the next follows from what all ranks' steps took, and
// so is the same on all. One rank alone has its wishes at once.
#pragma once

#include <chrono>
#include <functional>
#include <future>

#include "engine/context.h"

namespace isinglass {

struct Wishes {
  bool stop = false, save = false;
};

class Agreement {
 public:
  explicit Agreement(const Ranks& ranks) : ranks_(ranks) {}

  // What is granted now. Wishes are kept until the ranks tell each other.
  Wishes operator()(Wishes own);

 private:
  using Clock = std::chrono::steady_clock;

  // What all said at the last word.
  Wishes hear();

  const Ranks& ranks_;
  Wishes own_;
  std::future<torch::Tensor> said_;
  int64_t calls_ = 0, until_word_ = 1;
  Clock::time_point last_word_ = Clock::now();
};

// Does the work, which asks nothing of other ranks; by all ranks together. If it throws NonFinite
// on one of them, it does so on all, with what that one says: nobody goes on to wait for it.
void fail_together(const Ranks& ranks, const std::function<void()>& work);

}  // namespace isinglass
