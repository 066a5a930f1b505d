// Implements the collective stop and save flags, and an error that all ranks throw together.
#include "engine/stop_consensus.h"

#include <algorithm>
#include <string>

#include "engine/sampler.h"

namespace isinglass {
namespace {

constexpr double kEvery = 0.25;  // seconds between two reductions
// The interval, in steps, grows at most by this factor per reduction, because the first measured
// steps may be the quickest.
constexpr int64_t kGrowth = 8;
constexpr double kLeast = 1e-9;  // seconds: the shortest time that a call is taken to need

}  // namespace

StopFlags StopConsensus::operator()(StopFlags own) {
  if (ranks_.size() == 1) return own;
  own_.stop |= own.stop;
  own_.save |= own.save;
  if (++calls_ < until_exchange_) return {};
  const double seconds = std::chrono::duration<double>(Clock::now() - last_exchange_).count();
  const StopFlags granted = combined_.valid() ? exchange() : StopFlags{};
  combined_ = ranks_.all_reduce_async(torch::tensor(
      {own_.stop ? 1.0 : 0.0, own_.save ? 1.0 : 0.0, seconds / static_cast<double>(calls_)},
      torch::kFloat64));
  calls_ = 0;
  own_ = {};
  last_exchange_ = Clock::now();
  return granted;
}

StopFlags StopConsensus::exchange() {
  const torch::Tensor all = combined_.get();
  const double* sums = all.const_data_ptr<double>();
  const double of_a_call = std::max(kLeast, sums[2] / static_cast<double>(ranks_.size()));
  const double most = static_cast<double>(kGrowth * until_exchange_);
  until_exchange_ = static_cast<int64_t>(std::clamp(kEvery / of_a_call, 1.0, most));
  return {sums[0] > 0, sums[1] > 0};
}

void fail_together(const Ranks& ranks, const std::function<void()>& work) {
  if (ranks.size() == 1) return work();
  std::string said;
  try {
    work();
  } catch (const NonFinite& failure) {
    said = fmt::format("rank {}: {}\n", ranks.rank(), failure.what());
  }
  const auto length = static_cast<int64_t>(said.size());
  const torch::Tensor text = torch::empty({length}, torch::kUInt8);
  std::copy(said.begin(), said.end(), text.data_ptr<uint8_t>());
  const torch::Tensor all = ranks.gather(text);
  if (all.numel() == 0) return;
  const auto* first = all.const_data_ptr<uint8_t>();
  throw NonFinite(std::string(first, std::find(first, first + all.numel(), uint8_t{'\n'})));
}

}  // namespace isinglass
