// Implements the state of a rank and the agreement of ranks on which one reports a failure.
#include "cli/job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <thread>

#include "cli/terminal/interrupt.h"
#include "engine/ranks/process_group.h"
#include "io/control_group.h"
#include "lab/run/assemble.h"

namespace isinglass {
namespace {

// The delay before other ranks report a failure, so that rank 0 reports an error that all ranks
// have. Rank 0 also removes the run's files.
constexpr auto kAfterRankZero = std::chrono::milliseconds(500);
// The time that a rank which lost another one waits for the job to report the cause.
constexpr auto kUntilTold = std::chrono::seconds(12);

std::optional<RankInfo> rank_info;
std::unique_ptr<Job> job;
std::unique_ptr<ProcessGroup> ranks;

// Returns true once any rank has received a signal.
bool asked_to_stop() {
  if (!job) return interrupted();
  if (interrupted()) job->ask_to_stop();
  return job->asked_to_stop();
}

}  // namespace

void find_job() {
  rank_info = rank_info_of_job([](const char* name) -> const char* { return std::getenv(name); });
}

void join_job(const std::vector<std::string>& arguments) {
  if (!rank_info) return;
  job = std::make_unique<Job>(*rank_info);
  job->meet(fmt::format("{}", fmt::join(arguments, " ")));
}

void leave_job() {
  if (!job) return;
  job->leave();
  ranks.reset();
  job.reset();
}

bool is_rank0() {
  return !rank_info || rank_info->rank == 0;
}

bool reports(const Failure& failure) {
  if (!job) return true;
  if (failure.kind == kInterrupted) {  // all ranks were interrupted at the same step
    leave_job();
    return is_rank0();
  }
  std::this_thread::sleep_for(failure.kind == kLost ? kUntilTold
                              : is_rank0()          ? std::chrono::milliseconds(0)
                                                    : kAfterRankZero);
  if (job->fail_job(failure.code)) return true;
  std::this_thread::sleep_for(kUntilTold);  // the job ends the process meanwhile
  return false;
}

std::string report_prefix() {
  return rank_info ? fmt::format("rank {}: ", rank_info->rank) : "";
}

Job* present_job() {
  return job.get();
}

Context context_of(const Options& options) {
  const torch::Device device =
      device_of(options.text("device"), rank_info ? rank_info->local_rank : 0);
  if (job && !ranks) ranks = std::make_unique<ProcessGroup>(*job, device);
  return {.device = device,
          .ranks = ranks ? ranks.get() : &Ranks::single_process(),
          .stop = asked_to_stop};
}

bool quiet(const Options& options) {
  return options.flag("quiet") || !is_rank0();
}

int threads_of(int64_t said) {
  if (said > 0) return static_cast<int>(said);
  if (rank_info)
    return static_cast<int>(std::max<int64_t>(1, usable_processors() / rank_info->local_size));
  return std::getenv("OMP_NUM_THREADS") ? omp_get_max_threads() : usable_processors();
}

}  // namespace isinglass
