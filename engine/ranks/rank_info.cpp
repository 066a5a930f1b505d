// Reads the place of a process from the environment.
#include "engine/ranks/rank_info.h"

#include <array>
#include <charconv>
#include <limits>
#include <string_view>

#include "io/error.h"

namespace isinglass {
namespace {

constexpr int64_t kFirstPort = 20000, kPorts = 30000;  // range of ports for jobs that name none

// The environment variables of one program that starts ranks.
struct Names {
  const char *rank, *size, *local_rank, *local_size;
};

constexpr std::array<Names, 3> kNames = {{
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},
}};

std::optional<std::string> text(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<int64_t> whole(const Environment& environment, const char* name, int64_t least,
                             int64_t most) {
  const auto said = text(environment, name);
  if (!said) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(said->data(), said->data() + said->size(), value);
  // Slurm lists the tasks of its nodes as "4(x2)" or "4,3"; the first number is taken for all.
  const bool whole = end == said->data() + said->size() || *end == '(' || *end == ',';
  require(error == std::errc() && whole && value >= least && value <= most,
          "{} is '{}'; a whole number from {} to {} is needed", name, *said, least, most);
  return value;
}

// Returns the first node of a list, e.g. node03 for "node[03-07,11],other".
std::string first_node(const std::string& list) {
  const size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const size_t end = list.find_first_of(",-]", bracket);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

// Returns a port that is the same on every rank of a job, and hardly ever that of another job on
// the machine.
int64_t port_of(std::string_view job) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : job) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return kFirstPort + hash % kPorts;
}

void find_meeting_place(const Environment& environment, const Names& names, RankInfo& place) {
  const auto host = text(environment, "MASTER_ADDR");
  const auto port = whole(environment, "MASTER_PORT", 1, 65535);
  const auto nodes = text(environment, "SLURM_STEP_NODELIST");
  const bool torchrun = &names == kNames.data();
  require(!torchrun || (host && port),
          "{} is {}, but {} not set; MASTER_ADDR and MASTER_PORT give the address at which the "
          "ranks meet",
          names.size, place.size,
          host   ? "MASTER_PORT is"
          : port ? "MASTER_ADDR is"
                 : "MASTER_ADDR and MASTER_PORT are");
  if (host) {
    place.host = *host;
  } else if (place.one_machine()) {
    place.host = "127.0.0.1";
  } else {
    require(nodes,
            "{} is {} on several machines, so that MASTER_ADDR must name the machine of rank 0",
            names.size, place.size);
    place.host = first_node(*nodes);
  }
  std::string job = text(environment, "PMIX_NAMESPACE").value_or("");
  for (const char* name : {"SLURM_JOB_ID", "SLURM_STEP_ID"}) {
    job += "/" + text(environment, name).value_or("");
  }
  place.port = port.value_or(port_of(job));
}

}  // namespace

std::optional<RankInfo> rank_info_of_job(const Environment& environment) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  for (const Names& names : kNames) {
    const auto size = whole(environment, names.size, 1, kMost);
    if (size.value_or(1) == 1) {
      if (size) return std::nullopt;
      continue;
    }
    const auto rank = whole(environment, names.rank, 0, *size - 1);
    require(rank, "{} is {}, but {} is not set", names.size, *size, names.rank);
    RankInfo place{.rank = *rank, .size = *size};
    place.local_rank = whole(environment, names.local_rank, 0, *size - 1).value_or(*rank);
    place.local_size =
        whole(environment, names.local_size, place.local_rank + 1, *size).value_or(*size);
    find_meeting_place(environment, names, place);
    place.agent = text(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True";
    place.timeout =
        std::chrono::seconds(whole(environment, "ISINGLASS_START_TIMEOUT", 1, 86400).value_or(300));
    return place;
  }
  return std::nullopt;
}

}  // namespace isinglass
