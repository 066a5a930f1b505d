// The state of the program as one rank of a job started by torchrun, mpirun or srun, or as a single
// process.
#pragma once

#include <string>
#include <vector>

#include "cli/options/options.h"
#include "cli/terminal/failure.h"
#include "engine/context.h"
#include "engine/ranks/job.h"

namespace isinglass {

// Reads the environment. Throws Error if it describes a job incompletely.
void find_job();

// Connects to the other ranks, if there are any; all must have been started with the same
// arguments. From here on the job ends this process if another rank fails. Throws Error if the
// ranks cannot connect.
void join_job(const std::vector<std::string>& arguments);

// Waits until all ranks have finished their work; rank 0 leaves last.
void leave_job();

// Returns true if this process writes and prints: it is a single process or rank 0.
bool is_rank0();

// reports() returns true if this process is to report the failure; the other ranks end together
// with the one that does. report_prefix() returns the prefix of the report: "rank 2: ", or nothing
// for a single process.
bool reports(const Failure& failure);
std::string report_prefix();

// Returns the job, or null for a single process.
Job* present_job();

// Returns the context of the command: its --device, the ranks and the signal that stops it.
Context context_of(const Options& options);

// Returns true with --quiet, and on all ranks but rank 0.
bool quiet(const Options& options);

// Returns the number of CPU threads for --threads N. If N is 0, it is OMP_NUM_THREADS if that is
// set, or else the number of processors that the process may use (io/control_group.h). With several
// ranks it is this rank's share of these processors, because torchrun sets OMP_NUM_THREADS to 1.
int threads_of(int64_t said);

}  // namespace isinglass
