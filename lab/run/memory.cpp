// Implements the estimates of memory.
#include "lab/run/memory.h"

#include <c10/core/DeviceGuard.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "io/control_group.h"
#include "io/error.h"

namespace isinglass {
namespace {

// One call of a ResNet with its gradient takes about this many float32 maps [C, H, W] per state
// (measured).
constexpr double kResnetMaps = 10;
constexpr const char* kOverride = "ISINGLASS_MEMORY";

// Returns the number after the key in a file of key-value pairs, or the number in a file without
// keys. Returns NaN if there is none, for example if the file says "max".
double number_in(const std::filesystem::path& file, const std::string& key = "") {
  std::ifstream in(file);
  std::string word;
  double value = std::nan("");
  if (key.empty()) return in >> value ? value : std::nan("");
  while (in >> word && word != key) {
  }
  return in >> value ? value : std::nan("");
}

double state_bytes(const StateSpace& space) {
  const double sites = static_cast<double>(space.sites);
  const double moves = space.kind == StateKind::kPermutation
                           ? static_cast<double>(space.neighbours())
                           : sites * static_cast<double>(space.one_hot() ? space.categories : 1);
  return 2.0 * sites * static_cast<double>(torch::elementSize(space.dtype())) + 32 * moves;
}

double resnet_activations(int64_t channels, int64_t sites) {
  return kResnetMaps * 4 * static_cast<double>(channels) * static_cast<double>(sites);
}

double activation_bytes(const EnergyModel& model) {
  int64_t units = 0, channels = 0;
  for (const auto& parameter : model.named_parameters()) {
    const torch::Tensor& p = parameter.value();
    if (p.dim() == 4) channels = std::max(channels, p.size(0));
    if (p.dim() == 2) units += p.size(0);
  }
  if (channels > 0) return resnet_activations(channels, model.space().sites);
  return 16.0 * static_cast<double>(units);
}

}  // namespace

// Counts inactive file cache as available, as the system reclaims it on demand.
double group_memory(const std::filesystem::path& root) {
  struct Names {  // The two versions of control groups use different names.
    const char *limit, *used, *idle;
  };
  double left = std::numeric_limits<double>::infinity();
  for (const std::filesystem::path& group : control_groups("memory", root)) {
    for (const Names& names :
         {Names{"memory.max", "memory.current", "inactive_file"},
          Names{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}}) {
      const double limit = number_in(group / names.limit), used = number_in(group / names.used);
      const double idle = number_in(group / "memory.stat", names.idle);
      if (!std::isfinite(limit) || !std::isfinite(used)) continue;
      left = std::min(left, limit - used + (std::isfinite(idle) ? idle : 0));
    }
  }
  return left;
}

// On the CPU this is MemAvailable, or less if a control group limits the process.
double available_memory(torch::Device device) {
  if (device.is_cuda()) {
    const c10::DeviceGuard on_device(device);
    size_t available = 0, total = 0;
    const bool known = cudaMemGetInfo(&available, &total) == cudaSuccess;
    return known ? static_cast<double>(available) : std::numeric_limits<double>::infinity();
  }
  if (const char* said = std::getenv(kOverride)) {
    char* end = nullptr;
    const double gibibytes = std::strtod(said, &end);
    require(end != said && *end == '\0' && gibibytes > 0,
            "the environment variable {} is '{}'; it must be a number of GiB above 0", kOverride,
            said);
    return gibibytes * kGibibyte;
  }
  const double machine = 1024 * number_in("/proc/meminfo", "MemAvailable:");
  const double groups = group_memory();
  return std::isfinite(machine) ? std::min(machine, groups) : groups;
}

double sampling_bytes(const EnergyModel& model, int64_t chains) {
  return static_cast<double>(chains) * (state_bytes(model.space()) + activation_bytes(model));
}

double training_bytes(const std::string& model, const NewModelOptions& options, int64_t batch,
                      int64_t buffer) {
  const double sites = static_cast<double>(options.image_height * options.image_width);
  const double values = static_cast<double>(std::max<int64_t>(1, options.categories));
  double parameters = 0, activations = 0;
  if (model == "resnet") {
    const double channels = static_cast<double>(options.channels);
    parameters = 16 * 9 * channels * channels;
    activations = resnet_activations(options.channels, static_cast<int64_t>(sites));
  } else if (model == "ising") {
    // Counts float64 couplings, their lattice, and the matrix or the pairs of a gradient.
    const double edges = options.edges == EdgeSet::kAll ? sites * (sites - 1) / 2 : 2 * sites;
    parameters = 4 * edges;
    activations = options.edges == EdgeSet::kAll ? 32 * sites : 32 * edges;
  } else {
    const double hidden = model == "rbm" ? static_cast<double>(options.hidden) : 256.0;
    parameters = hidden * (values * sites + 512);
    activations = 16 * hidden;
  }
  return 6 * 4 * parameters + 2 * static_cast<double>(batch) * (activations + 34 * values * sites) +
         2 * static_cast<double>(buffer) * sites;
}

void require_memory(double bytes, torch::Device device, const std::string& what) {
  const double available = available_memory(device);
  require_options(
      bytes <= available,
      "{} needs about {:.1f} GiB of memory, but only "
      "{:.1f} GiB are available; a smaller size is needed{}",
      what, bytes / kGibibyte, available / kGibibyte,
      device.is_cuda()
          ? ""
          : fmt::format(", or the environment variable {} says how many GiB there are", kOverride));
}

}  // namespace isinglass
