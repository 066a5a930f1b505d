// The processes of one job, and the messages between them besides tensors. The messages go through
// a store that rank 0 keeps (under torchrun, its agent): that all ranks have started, that each is
// alive, and how the job ends.
//
// A thread of every rank reads the store a few times a second. A rank that fails thereby ends the
// other ranks, wherever they are. Rank 0 detects a rank that was killed or is frozen after some
// seconds without a sign of life, and the others detect rank 0 in a similar way. The processes then
// end at once and remove their unfinished files.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/ranks/rank_info.h"

namespace isinglass {

struct JobStores;  // engine/ranks/job_stores.h

class Job {
 public:
  // Connects to the store. Throws Error if nobody keeps it in time, or if its port is in use.
  explicit Job(const RankInfo& place);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Waits for all ranks. Throws Error that names the missing ranks, or that says that this rank was
  // started differently from the others, judged by `command`.
  void meet(const std::string& command);

  // Returns 0, 1, 2, … of that counter; every number goes to one rank.
  int64_t next(const std::string& counter);

  // Registers what this process does last if the job ends it. The argument is the exit code.
  void before_end(std::function<void(int code)> tidy);

  // note() stores what the job has to remember across a restart by torchrun, in place of an earlier
  // note. noted_before() returns true if exactly that was noted before a restart.
  void note(const std::string& what);
  bool noted_before(const std::string& what) const;

  // ask_to_stop() asks all ranks to stop. asked_to_stop() returns true if a rank has asked for it,
  // with a short delay.
  void ask_to_stop();
  bool asked_to_stop() const { return stop_; }

  // Reports that this rank has failed, which ends the job with that exit code. Returns true if it
  // was the first to fail, so that its error message is the one to print; otherwise another rank's
  // failure is about to end it. To be called once.
  bool fail_job(int code);

  // Waits at the end of this rank's work. The other ranks wait for rank 0, which may still fail to
  // write; rank 0 waits for the others, which need its store.
  void leave();

  const RankInfo& place() const { return place_; }
  const JobStores& stores() const { return *stores_; }

 private:
  int64_t number_of_start();
  void watch();
  void guard();
  void look_for_silent_ranks();
  struct End;
  void end(const End& end);
  void end_process(const End& end);
  void end_without_store();
  bool claim_end(int code);
  void await_all(const std::string& counter, int64_t count, std::chrono::seconds most);
  bool keeps_store() const { return place_.rank == 0 && !place_.agent; }

  RankInfo place_;
  std::unique_ptr<JobStores> stores_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool met_ = false, left_ = false, over_ = false;  // guarded by the mutex
  std::mutex tidying_;
  std::function<void(int code)> tidy_;  // guarded by tidying_
  // The last signs of life of the ranks that this one watches, and for how many looks each has not
  // changed.
  std::vector<std::string> beats_;
  std::vector<int64_t> silent_;
  std::atomic<bool> stop_ = false;
  std::string noted_;               // the note from before this start
  std::atomic<int64_t> looks_ = 0;  // counts the watcher's looks at the store
  std::promise<void> watched_;      // set when the watcher has ended
  std::thread watcher_, guard_;
};

}  // namespace isinglass
