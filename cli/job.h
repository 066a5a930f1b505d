// The program as one rank of a job that torchrun, mpirun or srun has started, or alone.
#pragma once

#include <string>
#include <vector>

#include "cli/options/options.h"
#include "cli/terminal/failure.h"
#include "engine/context.h"
#include "engine/ranks/job.h"

namespace isinglass {

// Reads the environment. Throws Error if it names a job and not enough of it.
void find_job();

// Meets the other ranks, if there are any, which were started with the same arguments. From here on
// the job ends this process if another rank fails. Throws Error.
void join_job(const std::vector<std::string>& arguments);

// All ranks have done their work; rank 0 is the last.
void leave_job();

// Whether this process writes and prints: it is alone, or rank 0.
bool leads();

// Of a failure: whether this process tells it, and "rank 2: " where it is one of several. The others
// end as that one does.
bool tells(const Failure& failure);
std::string teller();

// Null: alone.
Job* present_job();

// Where the command computes: its --device, with the ranks and the signal that stops it.
Context context_of(const Options& options);

// --quiet, or another rank than 0.
bool quiet(const Options& options);

// Returns the CPU threads of --threads N. For 0: as many as OMP_NUM_THREADS says, or else one for
// each processor that the process may use (io/control_group.h); of several ranks this one's part of
// these, since torchrun sets that variable to 1.
int threads_of(int64_t said);

}  // namespace isinglass
