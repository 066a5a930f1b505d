// Counts the work of the workloads on a GPU, without one, as JSON:  gpu_counters OUT [NAME…]
//
// For each workload, and for the shared memory of every kind of device, it writes the launches of
// this project's kernels with their counters (tests/simt/counters), LibTorch's own calls, and the
// FLOPs of the products. The interpreter is too slow for as many chains and steps as a GPU would
// run. Counts are therefore functions a + b·chains + steps·(c + d·chains), extrapolated from a few
// and twice as many chains and, for kernels that make many steps per launch, from one and two
// steps. If a call of many steps launches kernels for each of them, the second step stands for all
// later ones.
#include <fmt/format.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "io/error.h"
#include "tests/bench/gpu_model/played_device.h"
#include "tests/bench/gpu_model/workloads.h"
#include "tests/simt/counters/counters.h"
#include "tests/simt/devices.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;
using simt::LaunchCounts, simt::WarpCounts;

struct Counted {
  std::vector<LaunchCounts> launches;
  std::vector<LibraryCall> calls;
  int64_t at_once = 1;
  double flops = 0;
};

Counted count(const Workload& workload, PlayedDevice& device, int64_t chains, int64_t steps) {
  const Work work = workload.make(chains);
  work.run(1);  // afterwards the buffers exist
  device.take_calls();
  const simt::Counters counters;
  work.run(steps);
  return {counters.launches(), device.take_calls(), work.at_once, work.flops};
}

// Extrapolates f(chains, steps) from the corners (few or twice as many chains, one step or two).
struct Corners {
  double one, twice, one_of_two_steps, twice_of_two_steps;
};
double drawn_out(const Corners& f, double chains, double steps) {
  const double at_one = f.one + (chains - 1) * (f.twice - f.one);
  const double at_two =
      f.one_of_two_steps + (chains - 1) * (f.twice_of_two_steps - f.one_of_two_steps);
  return std::max(0.0, at_one + (steps - 1) * (at_two - at_one));
}

using Member = std::pair<const char*, int64_t WarpCounts::*>;
const std::vector<Member> kMembers = {{"loads", &WarpCounts::loads},
                                      {"stores", &WarpCounts::stores},
                                      {"load_sectors", &WarpCounts::load_sectors},
                                      {"store_sectors", &WarpCounts::store_sectors},
                                      {"shared", &WarpCounts::shared},
                                      {"bank_conflicts", &WarpCounts::bank_conflicts},
                                      {"philox", &WarpCounts::philox},
                                      {"fused", &WarpCounts::fused},
                                      {"operations", &WarpCounts::operations},
                                      {"barriers", &WarpCounts::barriers},
                                      {"atomics", &WarpCounts::atomics}};

// The launch at one position of the sequence, in all four runs.
class DrawnOut {
 public:
  DrawnOut(std::array<const LaunchCounts*, 4> runs, double ratio, double steps)
      : runs_(runs), ratio_(ratio), steps_(steps) {}

  Json json() const {
    const auto number = [](int64_t LaunchCounts::* member) {
      return [member](const LaunchCounts& c) { return static_cast<double>(c.*member); };
    };
    const auto of_all = [this](const auto& value) { return at(value, ratio_, steps_); };
    Json out = {
        {"kernel", runs_[0]->launch.kernel},
        {"blocks", std::ceil(of_all([](const LaunchCounts& c) { return c.launch.blocks; }) - 1e-9)},
        {"threads", runs_[0]->launch.threads},
        {"shared_bytes", runs_[0]->launch.shared_bytes},
        {"philox_calls", of_all(number(&LaunchCounts::philox_calls))},
        {"barriers", of_all(number(&LaunchCounts::barriers))},
        {"bytes_read", of_all(number(&LaunchCounts::bytes_read))},
        {"bytes_written", of_all(number(&LaunchCounts::bytes_written))}};
    for (const auto& [name, member] : kMembers) {
      out["warps"][name] =
          of_all([member](const LaunchCounts& c) { return static_cast<double>(c.warps.*member); });
      // The work of a warp does not depend on the number of other chains.
      out["longest"][name] =
          at([member](const LaunchCounts& c) { return static_cast<double>(c.longest.*member); }, 2,
             steps_);
    }
    return out;
  }

 private:
  template <class Value>
  double at(const Value& value, double ratio, double steps) const {
    return drawn_out({static_cast<double>(value(*runs_[0])), static_cast<double>(value(*runs_[1])),
                      static_cast<double>(value(*runs_[2])), static_cast<double>(value(*runs_[3]))},
                     ratio, steps);
  }

  std::array<const LaunchCounts*, 4> runs_;
  double ratio_, steps_;
};

Json library_json(const std::vector<LibraryCall>& few, const std::vector<LibraryCall>& twice,
                  double ratio) {
  Json out = Json::array();
  for (size_t i = 0; i < twice.size(); ++i) {
    const bool alike = few.size() == twice.size() && few[i].name == twice[i].name;
    const double bytes = static_cast<double>(twice[i].bytes);
    const double less = alike ? static_cast<double>(few[i].bytes) : bytes / 2;
    out.push_back({{"name", twice[i].name},
                   {"bytes", less + (ratio - 1) * (bytes - less)},
                   {"waits", twice[i].waits}});
  }
  return out;
}

// Returns the difference between two runs of the same work, or nothing if there is none.
std::string difference(const Counted& a, const Counted& b) {
  if (a.launches.size() != b.launches.size()) {
    return fmt::format("{} launches and {}", a.launches.size(), b.launches.size());
  }
  for (size_t i = 0; i < a.launches.size(); ++i) {
    const std::string &x = a.launches[i].launch.kernel, &y = b.launches[i].launch.kernel;
    if (x != y) return x + " and " + y;
  }
  return {};
}

// Returns true if two devices get the same launches, including shared memory.
bool alike(const Counted& a, const Counted& b) {
  if (!difference(a, b).empty()) return false;
  for (size_t i = 0; i < a.launches.size(); ++i) {
    const simt::Launch &x = a.launches[i].launch, &y = b.launches[i].launch;
    if (x.blocks != y.blocks || x.threads != y.threads || x.shared_bytes != y.shared_bytes) {
      return false;
    }
  }
  return true;
}

void require_alike(const Workload& workload, const Counted& a, const Counted& b) {
  const std::string differs = difference(a, b);
  require(differs.empty(), "{}: runs of the same work make different launches: {}", workload.name,
          differs);
}

// Returns the launches [first, end) of the second of two steps, if every step has its own.
std::pair<size_t, size_t> second_step(const Counted& one, const Counted& two) {
  size_t first = 0;
  while (first < one.launches.size() &&
         one.launches[first].launch.kernel == two.launches[first].launch.kernel) {
    ++first;
  }
  return {first, first + two.launches.size() - one.launches.size()};
}

Json counted_json(const Workload& workload, PlayedDevice& device) {
  const Counted few = count(workload, device, workload.few, 1);
  const Counted twice = count(workload, device, 2 * workload.few, 1);
  const bool many = few.at_once > 1;
  const Counted few_2 = many ? count(workload, device, workload.few, 2) : few;
  const Counted twice_2 = many ? count(workload, device, 2 * workload.few, 2) : twice;
  require_alike(workload, few, twice);
  require_alike(workload, few_2, twice_2);
  const double ratio = static_cast<double>(workload.chains) / static_cast<double>(workload.few);
  Json launches = Json::array();
  if (few_2.launches.size() > few.launches.size()) {
    const auto [first, end] = second_step(few, few_2);
    for (size_t i = 0; i < few_2.launches.size(); ++i) {
      const LaunchCounts &own = few_2.launches[i], &of_twice = twice_2.launches[i];
      launches.push_back(DrawnOut({&own, &of_twice, &own, &of_twice}, ratio, 1).json());
    }
    const Json step(launches.begin() + static_cast<std::ptrdiff_t>(first),
                    launches.begin() + static_cast<std::ptrdiff_t>(end));
    for (int64_t t = 2; t < few.at_once; ++t) {
      for (const Json& launch : step) launches.push_back(launch);
    }
  } else {
    require_alike(workload, few, few_2);
    for (size_t i = 0; i < few.launches.size(); ++i) {
      launches.push_back(
          DrawnOut({&few.launches[i], &twice.launches[i], &few_2.launches[i], &twice_2.launches[i]},
                   ratio, static_cast<double>(few.at_once))
              .json());
    }
  }
  return {{"steps", few.at_once},
          {"flops", few.flops * static_cast<double>(workload.chains)},
          {"launches", launches},
          {"library", library_json(few.calls, twice.calls, ratio)}};
}

// Counts for every kind of device. If the least and the most shared memory lead to the same
// launches, so does all in between.
Json capabilities_json(const Workload& workload, PlayedDevice& device) {
  const std::map<std::string, int64_t> limits = {{"7.0", simt::kVolta},
                                                 {"7.5", simt::kTuring},
                                                 {"8.0", simt::kAmpere},
                                                 {"9.0", simt::kHopper}};
  const auto with = [&](int64_t limit, const auto& function) {
    std::cerr << workload.name << ", " << (limit >> 10) << " KiB of shared memory\n";
    simt::set_shared_memory_limit(limit);
    return function();
  };
  const auto few = [&] { return count(workload, device, workload.few, 1); };
  const bool same = alike(with(simt::kTuring, few), with(simt::kHopper, few));
  Json out;
  for (const auto& [kind, limit] : limits) {
    out[kind] = same && !out.empty() ? out.begin().value()
                                     : with(limit, [&] { return counted_json(workload, device); });
  }
  return out;
}

int run(const std::vector<std::string>& arguments) {
  require(!arguments.empty(), "usage: gpu_counters OUT [NAME…]");
  const std::vector<std::string> names(arguments.begin() + 1, arguments.end());
  PlayedDevice device;
  Json out = Json::array();
  for (const Workload& w : workloads()) {
    const bool chosen =
        std::any_of(names.begin(), names.end(), [&](auto& n) { return w.name.starts_with(n); });
    if (!names.empty() && !chosen) continue;
    out.push_back({{"name", w.name},
                   {"what", w.what},
                   {"chains", w.chains},
                   {"capabilities", capabilities_json(w, device)}});
    if (w.graph_times > 0) out.back()["graph"] = {{"of", w.graph_of}, {"times", w.graph_times}};
    std::ofstream(arguments[0]) << out.dump(1) << '\n';
  }
  require(!out.empty(), "no workload has such a name");
  return 0;
}

}  // namespace
}  // namespace isinglass

int main(int argc, char** argv) try {
  return isinglass::run({argv + 1, argv + argc});
} catch (const std::exception& error) {
  std::cerr << "isinglass: error: " << error.what() << '\n';
  return 2;
}
