// Implements the diagnostics of persistent chains.
#include "train/objectives/chain_diagnostics.h"

#include <algorithm>

#include "models/energies.h"
#include "train/checkpoint.h"

namespace isinglass {
namespace {

constexpr int64_t kEvery = 200;             // iterations
constexpr int64_t kValidationImages = 500;  // at most
constexpr int64_t kWatched = 16, kLagSteps = 1000;
constexpr int64_t kCompared = 1000;  // chains or images, at most
// These are the names of the tensors in checkpoints.
constexpr const char *kVisited = "visited", *kWatchedStates = "watched";

int64_t lag_of(const PcdOptions& options) {
  if (options.from_data) return 0;
  const int64_t an_iteration = options.batch * options.steps;
  return (kLagSteps * options.buffer + an_iteration - 1) / an_iteration;
}

// Returns Pearson's correlation; NaN if one of the two does not vary.
double correlation(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor x = a - a.mean(), y = b - b.mean();
  return ((x * y).sum() / (x.norm() * y.norm())).item<double>();
}

// Returns at most kCompared of the rows, at equal distances, because images may be in the order of
// their classes.
torch::Tensor some(const torch::Tensor& rows) {
  const int64_t stride = std::max<int64_t>(1, (rows.size(0) + kCompared - 1) / kCompared);
  return rows.slice(0, 0, rows.size(0), stride);
}

// Returns the mean distance of two rows that are drawn with replacement: the number of sites in
// which they differ, or the squared distance of real states.
double mean_difference(const torch::Tensor& states, int64_t values) {
  if (states.is_floating_point()) {
    return 2 * states.to(torch::kFloat64).var(0, /*unbiased=*/false).sum().item<double>();
  }
  torch::Tensor same = torch::zeros({states.size(1)}, states.options().dtype(torch::kFloat64));
  for (int64_t value = 0; value < values; ++value) {
    same += states.eq(value).sum(0).to(torch::kFloat64).square_();
  }
  const auto rows = static_cast<double>(states.size(0));
  return static_cast<double>(states.size(1)) - same.sum().item<double>() / (rows * rows);
}

// Removes the tensor of this name from `saved` and returns it; undefined if there is none.
torch::Tensor taken(NamedTensors& saved, const std::string& name) {
  const auto found = std::find_if(saved.begin(), saved.end(),
                                  [&](const auto& tensor) { return tensor.first == name; });
  if (found == saved.end()) return {};
  const torch::Tensor tensor = found->second.clone();
  saved.erase(found);
  return tensor;
}

}  // namespace

ChainDiagnostics::ChainDiagnostics(const Dataset& data, const PcdOptions& options,
                                   torch::Device device)
    : buffer_(options.buffer), lag_(lag_of(options)), values_(data.space().categories) {
  // The held-out images of points are not points.
  const bool alike =
      data.validation.defined() && data.validation.scalar_type() == data.train.scalar_type();
  if (alike && data.validation.size(0) > 0) {
    const int64_t images = std::min(kValidationImages, data.validation.size(0));
    validation_ =
        binarise_once(data.validation.narrow(0, 0, images), data.values, /*split=*/1).to(device);
  }
  if (lag_ == 0) return;
  images_differ_ =
      mean_difference(binarise_once(some(data.train), data.values, /*split=*/0), values_);
  const auto bytes = torch::TensorOptions(torch::kUInt8).device(device);
  visited_ = torch::zeros({buffer_}, bytes);
  watched_ = torch::zeros({std::min(kWatched, options.buffer), data.train.size(1)},
                          bytes.dtype(data.space().dtype()));
}

void ChainDiagnostics::update(EnergyModel& model, const ReplayBuffer& buffer,
                              const torch::Tensor& slots, int64_t iteration) {
  seen_.clear();
  if (visited_.defined()) visited_.index_fill_(0, slots, 1);
  if (iteration % kEvery == 0) {
    if (visited_.defined()) {
      seen_.emplace_back("never_visited",
                         (visited_ == 0).to(torch::kFloat64).mean().item<double>());
    }
    if (images_differ_ > 0) {
      const torch::Tensor chains = some(buffer.states());
      seen_.emplace_back("spread", mean_difference(chains, values_) / images_differ_);
    }
    if (validation_.defined()) {
      seen_.emplace_back("energy_validation",
                         energies(model, validation_, validation_.device()).mean().item<double>());
    }
  }
  if (lag_ == 0 || iteration % lag_ != 0) return;
  const torch::Tensor now = buffer.states().narrow(0, 0, watched_.size(0));
  if (watching_) {
    const torch::Tensor energy = energies(model, torch::cat({watched_, now}), now.device());
    seen_.emplace_back("autocorrelation", correlation(energy.narrow(0, 0, now.size(0)),
                                                      energy.narrow(0, now.size(0), now.size(0))));
  }
  watched_.copy_(now);
  watching_ = true;
}

NamedTensors ChainDiagnostics::saved_state() const {
  NamedTensors all;
  if (visited_.defined()) all.push_back({kVisited, visited_});
  if (watching_) all.push_back({kWatchedStates, watched_});
  return all;
}

void ChainDiagnostics::load_state(NamedTensors& saved, const std::string& file) {
  if (lag_ == 0) return;
  const auto restore = [&](const std::string& name, torch::Tensor& own) {
    const torch::Tensor found = taken(saved, name);
    if (!found.defined()) return false;
    copy_tensors({{name, found}}, {{name, own}}, file);
    return true;
  };
  watching_ = restore(kWatchedStates, watched_);
  torch::Tensor visited = torch::zeros({buffer_}, watched_.options().dtype(torch::kUInt8));
  visited_ = restore(kVisited, visited) ? visited : torch::Tensor();
}

}  // namespace isinglass
