// Implements the messages between the processes of a job.
#include "engine/ranks/job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "engine/ranks/job_stores.h"
#include "io/error.h"
#include "io/files.h"

namespace isinglass {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kShort = std::chrono::milliseconds(20);
constexpr auto kLook = std::chrono::milliseconds(250);
// A rank counts as gone after so many looks without a sign of life.
constexpr int64_t kSilentLooks = 24;
constexpr auto kLateness = std::chrono::seconds(8);  // added to a connection's own time-out
constexpr auto kLastWords = std::chrono::seconds(2);
constexpr int kGone = 1;  // the exit code for a rank that left none
constexpr const char* kEnd = "end";
constexpr const char* kNoted = "noted";
constexpr const char* kStop = "stop";
constexpr const char* kFinished = "finished";
constexpr const char* kLeft = "left";
constexpr const char* kGoneWithoutAWord =
    "it ended without a message: it was killed or stopped, or its machine is down";

std::string beat_of(int64_t rank) {
  return fmt::format("beat/{}", rank);
}

std::string text(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

using Store = c10::intrusive_ptr<c10d::Store>;

Store connect(const RankInfo& place, bool keeps) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(place.port);
  options.isServer = keeps;
  options.waitWorkers = false;
  options.timeout = place.timeout;
  try {
    return c10::make_intrusive<c10d::TCPStore>(place.host, options);
  } catch (const std::exception& error) {
    const std::string_view reason = error.what();
    const auto names = [&](const char* word) { return reason.find(word) != reason.npos; };
    require(!names("EADDRINUSE"),
            "port {} of {}, at which the ranks meet, is in use; MASTER_PORT must name another port",
            place.port, place.host);
    require(!names("timed out") && !names("timeout"),
            "the ranks cannot connect to their store at {}:{}, because rank 0 has not started "
            "within {} s",
            place.host, place.port, place.timeout.count());
    fail("the ranks' store at {}:{} cannot be used: {}", place.host, place.port,
         reason.substr(0, reason.find('\n')));
  }
}

// Connects like connect(), but gives up if something that is no store listens at the port.
// connect() would wait for its answer without end.
Store connect_in_time(const RankInfo& place, bool keeps) {
  const auto made = std::make_shared<std::promise<Store>>();
  std::future<Store> store = made->get_future();
  std::thread([=] {
    try {
      made->set_value(connect(place, keeps));
    } catch (...) {
      made->set_exception(std::current_exception());
    }
  }).detach();
  require(store.wait_for(place.timeout + kLateness) == std::future_status::ready,
          "the program that listens at {}:{} is not the ranks' store; MASTER_PORT must name "
          "another port",
          place.host, place.port);
  return store.get();
}

// Returns the keys of one start of the job, by its number, or those of all starts.
Store part_of(const Store& store, const std::string& name) {
  return c10::make_intrusive<c10d::PrefixStore>("isinglass/" + name, store);
}

}  // namespace

// Describes how a job ends early because a rank has failed.
struct Job::End {
  int code;
  int64_t rank;      // the rank that failed
  std::string line;  // its error message; empty if another rank prints it
};

Job::Job(const RankInfo& place) : place_(place), beats_(place.size), silent_(place.size) {
  // Without it, a store that has gone would kill the process by a signal instead of raising an
  // error.
  std::signal(SIGPIPE, SIG_IGN);
  const Store store = connect_in_time(place_, keeps_store());
  stores_ = std::make_unique<JobStores>(part_of(store, "all"));
  const std::string start = std::to_string(number_of_start());
  stores_->own = part_of(store, start);
  stores_->watching = part_of(connect_in_time(place_, false), start);
  if (stores_->of_all->check({kNoted})) noted_ = text(stores_->of_all->get(kNoted));
  require(stores_->own->add(fmt::format("came/{}", place_.rank), 1) == 1,
          "rank {} has already registered at {}:{}; another job uses that address, and MASTER_PORT "
          "must name another port",
          place_.rank, place_.host, place_.port);
  stores_->own->set(beat_of(place_.rank), "0");
  watcher_ = std::thread([this] {
    watch();
    watched_.set_value();
  });
  guard_ = std::thread([this] { guard(); });
}

Job::~Job() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_all();
  watcher_.join();
  guard_.join();
}

// Returns the number of this start. A store that rank 0 keeps serves only one start.
int64_t Job::number_of_start() {
  if (!place_.agent) return 0;
  return place_.rank == 0 ? stores_->rendezvous.begin() : stores_->rendezvous.wait(place_.timeout);
}

void Job::meet(const std::string& command) {
  c10d::Store& store = *stores_->own;
  const std::string started = fmt::format("{} of {}", command, place_.size);
  require(
      store.compareSet("command", "", started) == started,
      "rank {} was started with another command line, script or number of ranks than the others",
      place_.rank);
  if (store.add("came", 1) == place_.size) store.set("all", "");
  const auto end = Clock::now() + place_.timeout;
  while (place_.agent && place_.rank == 0 && !store.check({"all"}) && Clock::now() < end) {
    stores_->rendezvous.call_up();
    std::this_thread::sleep_for(kShort);
  }
  try {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    store.wait({"all"}, std::max(left, kShort));
  } catch (const std::exception&) {
    std::vector<int64_t> missing;
    for (int64_t rank = 0; rank < place_.size; ++rank) {
      if (!store.check({fmt::format("came/{}", rank)})) missing.push_back(rank);
    }
    require(!missing.empty(),
            "all {} ranks have started, but not all of them have connected within {} s",
            place_.size, place_.timeout.count());
    fail("{} of {} ranks have started within {} s; missing: {}",
         place_.size - static_cast<int64_t>(missing.size()), place_.size, place_.timeout.count(),
         fmt::join(missing, ", "));
  }
  const std::lock_guard lock(mutex_);
  met_ = true;
}

int64_t Job::next(const std::string& counter) {
  return stores_->own->add("next/" + counter, 1) - 1;
}

void Job::note(const std::string& what) {
  stores_->of_all->set(kNoted, what);
}

bool Job::noted_before(const std::string& what) const {
  return !what.empty() && noted_ == what;
}

void Job::ask_to_stop() {
  if (!stop_.exchange(true)) stores_->own->set(kStop, "");
}

// Tries to set the key that ends the job. Only the first rank that sets it succeeds.
bool Job::claim_end(int code) {
  const std::string value = fmt::format("{} {}", place_.rank, code);
  return stores_->watching->compareSet(kEnd, "", value) == value;
}

bool Job::fail_job(int code) {
  try {
    if (!claim_end(code)) return false;
    if (keeps_store()) await_all("told", place_.size - 1, kLastWords);
  } catch (const std::exception&) {
    // Nobody keeps the store any more, so that no other rank can claim the failure.
  }
  return true;
}

void Job::leave() {
  if (place_.rank == 0) {
    stores_->own->set(kFinished, "");
  } else {
    while (!stores_->own->check({kFinished})) std::this_thread::sleep_for(kShort);
  }
  {
    const std::lock_guard lock(mutex_);
    left_ = true;
  }
  stores_->own->set(beat_of(place_.rank), kLeft);
  stores_->own->add(kLeft, 1);
  if (keeps_store()) await_all(kLeft, place_.size, std::chrono::hours(24 * 365));
}

void Job::await_all(const std::string& counter, int64_t count, std::chrono::seconds most) {
  const auto end = Clock::now() + most;
  // This uses the watcher's connection, because a call on the rank's own connection may be waiting
  // for an answer that does not come.
  while (stores_->watching->add(counter, 0) < count && Clock::now() < end) {
    std::this_thread::sleep_for(kShort);
  }
}

void Job::before_end(std::function<void(int code)> tidy) {
  const std::lock_guard lock(tidying_);
  tidy_ = std::move(tidy);
}

void Job::end(const End& end) {
  // A rank that keeps the store ends after the others have learned of the end.
  if (keeps_store()) await_all("told", place_.size - 1, kLastWords);
  end_process(end);
}

void Job::end_process(const End& end) {
  if (!end.line.empty()) fmt::print(stderr, "isinglass: rank {}: error: {}\n", end.rank, end.line);
  std::fflush(stderr);
  remove_unfinished_files();
  const std::lock_guard lock(tidying_);
  if (tidy_) tidy_(end.code);
  _exit(end.code);
}

void Job::end_without_store() {
  const bool speaks = place_.rank == (place_.agent ? 0 : 1);
  end_process({kGone, 0, speaks ? kGoneWithoutAWord : ""});
}

void Job::watch() {
  c10d::Store& store = *stores_->watching;
  for (int64_t look = 1;; ++look) {
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, kLook, [&] { return over_; })) return;
    const bool met = met_;
    ++looks_;
    try {
      if (!left_) store.set(beat_of(place_.rank), std::to_string(look));
      lock.unlock();
      if (store.check({kEnd})) {
        const std::string value = text(store.get(kEnd));
        const int64_t rank = std::stoll(value);
        if (rank == place_.rank) return;  // a rank that failed ends by itself
        store.add("told", 1);
        return end({std::stoi(value.substr(value.find(' '))), rank, ""});
      }
      if (store.check({kStop})) stop_ = true;
      if (met) look_for_silent_ranks();
    } catch (const std::exception&) {
      if (!lock.owns_lock()) lock.lock();
      if (over_ || left_) return;
      lock.unlock();
      end_without_store();
    }
  }
}

// Ends this process if the watcher makes no progress. A call of the store has no time-out: if the
// process that keeps it is frozen, the watcher hangs in a call, perhaps while it holds the mutex.
void Job::guard() {
  const std::future<void> over = watched_.get_future();
  int64_t seen = 0, same = 0;
  while (over.wait_for(kLook) != std::future_status::ready) {
    same = looks_ == seen ? same + 1 : 0;
    seen = looks_;
    if (same >= kSilentLooks) return end_without_store();
  }
}

// Rank 0 watches all others. Rank 1 watches rank 0 if rank 0 does not keep the store.
void Job::look_for_silent_ranks() {
  std::vector<int64_t> watched;
  if (place_.rank == 1 && place_.agent) watched = {0};
  for (int64_t rank = 1; place_.rank == 0 && rank < place_.size; ++rank) watched.push_back(rank);
  if (watched.empty()) return;
  std::vector<std::string> keys;
  for (const int64_t rank : watched) keys.push_back(beat_of(rank));
  const auto values = stores_->watching->multiGet(keys);
  for (size_t i = 0; i < watched.size(); ++i) {
    const int64_t rank = watched[i];
    const std::string beat = text(values[i]);
    silent_[rank] = beat == beats_[rank] && beat != kLeft ? silent_[rank] + 1 : 0;
    beats_[rank] = beat;
    if (silent_[rank] < kSilentLooks || !claim_end(kGone)) continue;
    return end({kGone, rank, kGoneWithoutAWord});
  }
}

}  // namespace isinglass
