// See agreement.h.
#include "engine/agreement.h"

#include <algorithm>

namespace isinglass {
namespace {

constexpr double kEvery = 0.25;  // seconds from word to word, each of which waits for the slowest
constexpr int64_t kGrowth = 8;   // of the steps between: the first may be the quickest
constexpr double kLeast = 1e-9;  // seconds

}  // namespace

Wishes Agreement::operator()(Wishes own) {
  if (ranks_.size() == 1) return own;
  own_.stop |= own.stop;
  own_.save |= own.save;
  if (++calls_ < until_word_) return {};
  const double seconds = std::chrono::duration<double>(Clock::now() - last_word_).count();
  const torch::Tensor all = ranks_.sum(
      torch::tensor({own_.stop ? 1.0 : 0.0, own_.save ? 1.0 : 0.0, seconds}, torch::kFloat64));
  const double* sums = all.const_data_ptr<double>();
  const double of_calls = std::max(kLeast, sums[2] / static_cast<double>(ranks_.size()));
  const double calls = kEvery / of_calls * static_cast<double>(calls_);
  until_word_ = std::clamp<int64_t>(
      static_cast<int64_t>(std::min(calls, static_cast<double>(kGrowth * until_word_))), 1,
      kGrowth * until_word_);
  calls_ = 0;
  own_ = {};
  last_word_ = Clock::now();
  return {sums[0] > 0, sums[1] > 0};
}

}  // namespace isinglass
