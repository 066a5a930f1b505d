// Implements the ranks of a job as a context manager.
#include "python/bindings/ranks.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "engine/ranks/process_group.h"
#include "io/error.h"
#include "lab/run/assemble.h"

namespace isinglass::python {
namespace {

namespace fs = std::filesystem;

constexpr auto kUntilTold = std::chrono::seconds(12);
constexpr int kFailed = 1, kInterrupted = 130;

// Serves as the context manager of the `with` statement.
class JobRanks {
 public:
  JobRanks()
      : place_(
            rank_info_of_job([](const char* name) -> const char* { return std::getenv(name); })) {}

  ~JobRanks();
  JobRanks(const JobRanks&) = delete;
  JobRanks& operator=(const JobRanks&) = delete;

  void join(const std::string& script);
  void leave(const py::object& exception);

  int64_t rank() const { return place_ ? place_->rank : 0; }
  int64_t size() const { return place_ ? place_->size : 1; }
  int64_t local_rank() const { return place_ ? place_->local_rank : 0; }
  torch::Device device() const { return device_of("auto", local_rank()); }

  const Ranks& group() const { return *group_; }
  bool asked_to_stop(bool here) {
    if (here) job_->ask_to_stop();
    return job_->asked_to_stop();
  }
  // Returns whether any rank was interrupted. All ranks call it together, with the GIL held.
  bool interrupted(bool here) {
    const py::gil_scoped_release no_gil;
    interrupted_ = group_->any(here || job_->asked_to_stop());
    return interrupted_;
  }
  std::function<int64_t()> next_cell() {
    return [this, counter = fmt::format("cell/{}", grids_++)] { return job_->next(counter); };
  }

 private:
  std::optional<RankInfo> place_;
  std::unique_ptr<Job> job_;
  std::unique_ptr<ProcessGroup> group_;
  int64_t grids_ = 0;
  bool interrupted_ = false;  // Holds for all ranks.
};

// The GIL guards this pointer, which is written only between calls.
JobRanks* joined = nullptr;

JobRanks::~JobRanks() {
  if (joined == this) joined = nullptr;
}

// Joins the job. A rank that cannot join fails the job, as the others would wait for it.
void JobRanks::join(const std::string& script) {
  require(!joined && !job_, "this process has already joined the ranks");
  if (!place_) return;
  const py::gil_scoped_release no_gil;
  job_ = std::make_unique<Job>(*place_);
  try {
    job_->meet(script);
    group_ = std::make_unique<ProcessGroup>(*job_, device());
  } catch (...) {
    job_->fail_job(kFailed);
    job_.reset();
    throw;
  }
  joined = this;
}

// Leaves the job. An exception on this rank alone fails the job; an interrupt that reached all
// ranks does not.
void JobRanks::leave(const py::object& exception) {
  if (!job_) return;
  joined = nullptr;
  const bool interrupt = PyErr_GivenExceptionMatches(exception.ptr(), PyExc_KeyboardInterrupt) != 0;
  const bool together = exception.is_none() || (interrupt && interrupted_);
  const py::gil_scoped_release no_gil;
  if (together) {
    job_->leave();
  } else {
    job_->fail_job(interrupt ? kInterrupted : kFailed);
  }
  group_.reset();
  job_.reset();
}

}  // namespace

Context context_of(torch::Device device, Interrupts& interrupts) {
  if (!joined) return {.device = device, .stop = [&] { return interrupts.requested(); }};
  return {.device = device, .ranks = &joined->group(), .stop = [&interrupts] {
            const bool here = interrupts.requested();
            // The job remembers an interrupt for all later calls. A stop that the user's functions
            // ask for ends this call only, on which the ranks agree in the run itself.
            return joined->asked_to_stop(here && !interrupts.stopped()) || here;
          }};
}

bool is_rank0() {
  return !joined || joined->rank() == 0;
}

int64_t local_rank() {
  return joined ? joined->local_rank() : 0;
}

std::function<int64_t()> next_cell() {
  return joined ? joined->next_cell() : std::function<int64_t()>();
}

py::object ending(const Interrupts& interrupts) {
  py::object own = interrupts.exception();
  if (!joined || !joined->interrupted(!own.is_none()) || !own.is_none()) return own;
  return py::reinterpret_borrow<py::object>(PyExc_KeyboardInterrupt)();
}

void await_end() {
  const py::gil_scoped_release no_gil;
  std::this_thread::sleep_for(kUntilTold);
}

void add_ranks(py::module_& module) {
  py::class_<JobRanks>(module, "Ranks",
                       R"(The processes that torchrun, mpirun or srun has started, as ranks of one
computation.

Inside the `with` statement sample, train, evaluate and ablate share their work among the ranks,
which all must make the same calls. A process that was started alone is the only rank. An exception
on one rank alone ends the others.

Attributes:
    rank: the number of this rank, from 0.
    size: the number of ranks.
    local_rank: the number of this rank on its machine, from 0.
    leads: True for rank 0, to which sample and ablate return their results; other ranks get None.
    device: this rank's own GPU if the machine has GPUs, else cpu.

Raises:
    Error: if this process has already joined the ranks, or the variables that the launcher sets are
        missing or contradict each other.

Example:
    >>> import isinglass as ig
    >>> with ig.Ranks() as ranks:  # one rank, as this process was started alone
    ...     target = ig.instance("ising-grid:side=4,coupling=0.3")
    ...     run = ig.sample(target, "gwg", chains=8, steps=20)
    >>> ranks.rank, ranks.size, ranks.leads, run.samples.shape
    (0, 1, True, torch.Size([20, 8, 16])))")
      .def(py::init<>())
      .def("__enter__",
           [](py::object self) {
             // Ranks may have different arguments, such as a rank's number, device or log file, so
             // that only the script's name has to agree.
             const py::list words = py::module_::import("sys").attr("argv");
             const fs::path script = words.empty() ? "" : py::str(words[0]).cast<std::string>();
             self.cast<JobRanks&>().join(script.filename().string());
             return self;
           })
      .def("__exit__", [](JobRanks& self, const py::object&, const py::object& exception,
                          const py::object&) { self.leave(exception); })
      .def_property_readonly("rank", &JobRanks::rank)
      .def_property_readonly("size", &JobRanks::size)
      .def_property_readonly("local_rank", &JobRanks::local_rank)
      .def_property_readonly("leads", [](const JobRanks& self) { return self.rank() == 0; })
      .def_property_readonly("device", &JobRanks::device);
  module.def("joined_ranks", [] { return joined ? joined->size() : int64_t{1}; });
}

}  // namespace isinglass::python
