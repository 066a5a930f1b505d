// A process finds its rank in the variables of torchrun, mpirun and srun, and reports what is
// missing.
#include "engine/ranks/rank_info.h"

#include <gtest/gtest.h>

#include <map>

#include "io/error.h"

namespace isinglass::rank_info_test {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<RankInfo> place(const Variables& variables) {
  return rank_info_of_job([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string refusal(const Variables& variables) {
  try {
    place(variables);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const Variables kTorchrun = {{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "node3"},
                             {"MASTER_PORT", "29400"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "True"}};

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

TEST(RankInfoOfJob, OneProcessIsAlone) {
  EXPECT_FALSE(place({}));
  EXPECT_FALSE(place({{"WORLD_SIZE", "1"}, {"RANK", "0"}}));
  EXPECT_FALSE(place({{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}));
  // A Slurm batch script outside of srun has these variables.
  EXPECT_FALSE(place({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}));
}

TEST(RankInfoOfJob, OfTorchrun) {
  const RankInfo found = place(kTorchrun).value();
  EXPECT_EQ(found.rank, 5);
  EXPECT_EQ(found.size, 8);
  EXPECT_EQ(found.local_rank, 1);
  EXPECT_EQ(found.local_size, 4);
  EXPECT_EQ(found.host, "node3");
  EXPECT_EQ(found.port, 29400);
  EXPECT_TRUE(found.agent);
  EXPECT_FALSE(found.one_machine());
}

TEST(RankInfoOfJob, OfSlurm) {
  const Variables srun = {{"SLURM_PROCID", "9"},
                          {"SLURM_STEP_NUM_TASKS", "16"},
                          {"SLURM_LOCALID", "1"},
                          {"SLURM_STEP_TASKS_PER_NODE", "8(x2)"},
                          {"SLURM_STEP_NODELIST", "gpu-[007-008],cpu1"},
                          {"SLURM_JOB_ID", "4711"},
                          {"SLURM_STEP_ID", "0"}};
  const RankInfo found = place(srun).value();
  EXPECT_EQ(found.rank, 9);
  EXPECT_EQ(found.size, 16);
  EXPECT_EQ(found.local_rank, 1);
  EXPECT_EQ(found.local_size, 8);
  EXPECT_EQ(found.host, "gpu-007");
  EXPECT_FALSE(found.agent);
  EXPECT_EQ(place(with(srun, {{"SLURM_STEP_NODELIST", "a1,b[2-3]"}}))->host, "a1");
  // The port is one of the job's own, which all its ranks find.
  EXPECT_EQ(place(with(srun, {{"SLURM_PROCID", "0"}}))->port, found.port);
  EXPECT_NE(place(with(srun, {{"SLURM_JOB_ID", "4712"}}))->port, found.port);
  EXPECT_EQ(place(with(srun, {{"MASTER_ADDR", "h"}, {"MASTER_PORT", "7"}}))->port, 7);
  // When srun has started torchrun, torchrun's variables give the rank.
  EXPECT_EQ(place(with(srun, kTorchrun))->rank, 5);
}

TEST(RankInfoOfJob, OfOpenMpi) {
  const Variables mpirun = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                            {"PMIX_NAMESPACE", "prterun-host-100@1"}};
  const RankInfo found = place(mpirun).value();
  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.host, "127.0.0.1");
  // srun may have started mpirun, with different numbers.
  EXPECT_EQ(place(with(mpirun, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "9"}}))->size, 2);
  EXPECT_EQ(refusal(with(mpirun, {{"OMPI_COMM_WORLD_SIZE", "4"}})),
            "OMPI_COMM_WORLD_SIZE is 4 on several machines, so that MASTER_ADDR must name "
            "the machine of rank 0");
}

TEST(RankInfoOfJob, SaysWhatIsMissing) {
  Variables variables = kTorchrun;
  variables.erase("MASTER_PORT");
  EXPECT_EQ(refusal(variables),
            "WORLD_SIZE is 8, but MASTER_PORT is not set; MASTER_ADDR and MASTER_PORT give the "
            "address at which the ranks meet");
  variables.erase("MASTER_ADDR");
  EXPECT_NE(refusal(variables).find("MASTER_ADDR and MASTER_PORT are not set"), std::string::npos);
  variables.erase("RANK");
  EXPECT_EQ(refusal(variables), "WORLD_SIZE is 8, but RANK is not set");
  EXPECT_EQ(refusal(with(kTorchrun, {{"RANK", "8"}})),
            "RANK is '8'; a whole number from 0 to 7 is needed");
  EXPECT_EQ(refusal(with(kTorchrun, {{"WORLD_SIZE", "two"}})),
            "WORLD_SIZE is 'two'; a whole number from 1 to 2147483647 is needed");
  EXPECT_EQ(refusal(with(kTorchrun, {{"ISINGLASS_START_TIMEOUT", "0"}})),
            "ISINGLASS_START_TIMEOUT is '0'; a whole number from 1 to 86400 is needed");
}

}  // namespace
}  // namespace isinglass::rank_info_test
