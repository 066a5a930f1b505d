// The place of a process in its job: its rank, the number of ranks, and where they meet. It is read
// from the environment variables of the program that started the process:
//
//   torchrun   RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT
//   mpirun     OMPI_COMM_WORLD_RANK, …_SIZE, …_LOCAL_RANK, …_LOCAL_SIZE
//   srun       SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID, SLURM_STEP_TASKS_PER_NODE
//
// The first of these programs whose variables are set counts; mpirun comes before srun, which may
// have started it. For mpirun and srun, MASTER_ADDR and MASTER_PORT determine the meeting place if
// they are set. Otherwise it is the first node of the job step (this machine, if all ranks are on
// one), at a port computed from the job's number. ISINGLASS_START_TIMEOUT is the time in seconds
// within which all ranks must start, 300 by default.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace isinglass {

struct RankInfo {
  int64_t rank = 0, size = 1;
  int64_t local_rank = 0, local_size = 1;  // on this machine
  std::string host = {};                   // where the ranks' store is
  int64_t port = 0;
  bool agent = false;  // torchrun's agent keeps the store, not rank 0
  std::chrono::seconds timeout{300};

  bool one_machine() const { return local_size == size; }
};

using Environment = std::function<const char*(const char* name)>;  // null: not set

// Returns rank and world size from the environment, or nullopt for a single process. Throws Error
// that names a variable which is missing or wrong.
std::optional<RankInfo> rank_info_of_job(const Environment& environment);

}  // namespace isinglass
