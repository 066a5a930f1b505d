// A process's place in its job: which of how many ranks it is, and where they meet; as the program
// that started it says in the environment.
//
//   torchrun   RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT
//   mpirun     OMPI_COMM_WORLD_RANK, …_SIZE, …_LOCAL_RANK, …_LOCAL_SIZE
//   srun       SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID, SLURM_STEP_TASKS_PER_NODE
//
// The first that there is counts; mpirun comes before srun, which may have started it. The last two
// leave the meeting place to MASTER_ADDR and MASTER_PORT where these are set, or else it is the step's
// first node (this machine, where all ranks are on one), at a port that follows from the job's number.
// ISINGLASS_START_TIMEOUT: seconds in which all ranks come, 300 by default.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace isinglass {

struct Place {
  int64_t rank = 0, size = 1;
  int64_t local_rank = 0, local_size = 1;  // on this machine
  std::string host = {};                   // where the ranks' store is
  int64_t port = 0;
  bool agent = false;  // torchrun keeps the store, not rank 0
  std::chrono::seconds patience{300};

  bool one_machine() const { return local_size == size; }
};

using Environment = std::function<const char*(const char* name)>;  // null: not set

// None: one process, alone. Throws Error that names a variable which is missing or wrong.
std::optional<Place> place_in_job(const Environment& environment);

}  // namespace isinglass
