// The processes of one job, and what they tell each other beside tensors, by a store that rank 0 keeps
// (under torchrun its agent does): that all have come, that each still works, and how the job ends.
//
// A thread of every rank looks at the store a few times a second. So a rank that fails ends the others
// wherever they are, and one that is killed or frozen is missed by rank 0 after some seconds of silence,
// as that one is by the others. The processes end at once, without their unfinished files.
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

#include "engine/ranks/place.h"

namespace isinglass {

struct JobStores;  // engine/ranks/job_stores.h

class Job {
 public:
  // Reaches the store. Throws Error if nobody keeps it in time, or its port is in use.
  explicit Job(const Place& place);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Waits for all ranks. Throws Error naming those that did not come, or if one of them was started
  // otherwise, as `command` says.
  void meet(const std::string& command);

  // 0, 1, 2, …: every number goes to one rank.
  int64_t next(const std::string& counter);

  // What this process does last if the job ends it, with that exit code.
  void before_end(std::function<void(int code)> tidy);

  // What the job is to know of itself when torchrun restarts it; and whether it was said before a
  // restart.
  void note(const std::string& what);  // in place of what was noted
  bool noted_before(const std::string& what) const;

  // All ranks are to stop; and whether one has asked for it, known a moment later.
  void ask_to_stop();
  bool asked_to_stop() const { return stop_; }

  // This rank fails, which ends the job with that exit code. Whether its line is the job's: it is the
  // first to fail; or else it is about to be ended. To be called once.
  bool fail_job(int code);

  // This rank's work is done. The others wait here for rank 0, which may yet fail to write, and that one
  // for the others, who need its store.
  void leave();

  const Place& place() const { return place_; }
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

  Place place_;
  std::unique_ptr<JobStores> stores_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool met_ = false, left_ = false, over_ = false;  // guarded by the mutex
  std::mutex tidying_;
  std::function<void(int code)> tidy_;  // guarded by it
  std::vector<std::string>
      beats_;  // of the ranks that this one watches, and for how many looks the same
  std::vector<int64_t> silent_;
  std::atomic<bool> stop_ = false;
  std::string noted_;               // before this start
  std::atomic<int64_t> looks_ = 0;  // of the watcher
  std::promise<void> watched_;      // it has ended
  std::thread watcher_, guard_;
};

}  // namespace isinglass
