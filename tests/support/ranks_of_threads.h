// Emulates ranks by threads of this process.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "engine/context.h"

namespace isinglass {

// A meeting point of all ranks: each gives a value, and all get the values once all have come.
class Meeting {
 public:
  explicit Meeting(int64_t size) : given_(size) {}

  std::vector<torch::Tensor> exchange(int64_t rank, const torch::Tensor& value) {
    std::unique_lock<std::mutex> lock(mutex_);
    const int64_t round = round_;
    given_[rank] = value.clone();
    if (++arrived_ == size()) {
      taken_ = given_;
      arrived_ = 0;
      ++round_;
      all_.notify_all();
    } else {
      // The wait is bounded, so that a rank that does not come fails the test. wait() needs a newer
      // libstdc++ than the machines have on which the archive runs.
      EXPECT_TRUE(all_.wait_for(lock, std::chrono::minutes(1), [&] { return round_ != round; }));
    }
    return taken_;
  }
  int64_t size() const { return static_cast<int64_t>(given_.size()); }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  std::vector<torch::Tensor> given_, taken_;
  int64_t arrived_ = 0, round_ = 0;
};

class RankOfThreads : public Ranks {
 public:
  RankOfThreads(Meeting& meeting, int64_t rank) : meeting_(meeting), rank_(rank) {}
  int64_t rank() const override { return rank_; }
  int64_t size() const override { return meeting_.size(); }
  torch::Tensor sum(const torch::Tensor& value) const override {
    return torch::stack(meeting_.exchange(rank_, value)).sum(0, false, value.scalar_type());
  }
  torch::Tensor gather(const torch::Tensor& rows) const override {
    return torch::cat(meeting_.exchange(rank_, rows));
  }
  bool any(bool value) const override { return sum(torch::tensor(value ? 1 : 0)).item<int>() > 0; }

 private:
  Meeting& meeting_;
  int64_t rank_;
};

// The number of collective operations of a rank.
struct Exchanges {
  int64_t sums = 0, gathers = 0, wishes = 0;
  bool operator==(const Exchanges&) const = default;
};

class CountedRank : public Ranks {
 public:
  explicit CountedRank(const Ranks& ranks) : ranks_(ranks) {}
  int64_t rank() const override { return ranks_.rank(); }
  int64_t size() const override { return ranks_.size(); }
  torch::Tensor sum(const torch::Tensor& value) const override {
    ++counts.sums;
    return ranks_.sum(value);
  }
  torch::Tensor gather(const torch::Tensor& rows) const override {
    ++counts.gathers;
    return ranks_.gather(rows);
  }
  bool any(bool value) const override {
    ++counts.wishes;
    return ranks_.any(value);
  }

  mutable Exchanges counts;

 private:
  const Ranks& ranks_;
};

// Runs `work` on each of so many ranks and returns the results.
template <class Result>
std::vector<Result> on_ranks(int64_t size, const std::function<Result(const Ranks&)>& work) {
  Meeting meeting(size);
  std::vector<Result> results(size);
  std::vector<std::thread> ranks;
  for (int64_t r = 0; r < size; ++r) {
    ranks.emplace_back([&, r] { results[r] = work(RankOfThreads(meeting, r)); });
  }
  for (std::thread& rank : ranks) rank.join();
  return results;
}

}  // namespace isinglass
