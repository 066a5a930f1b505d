// Implements the event files for TensorBoard.
#include "cli/tensorboard.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/job.h"
#include "cli/output_directory.h"
#include "io/numbers.h"
#include "io/picture.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMostDraws = 1000;  // number of draws shown at most, evenly spaced among all
constexpr int64_t kShownPictures = 100, kColumns = 10;

void add_numbers(const Json& json, const std::string& name,
                 std::vector<std::pair<std::string, double>>& numbers) {
  if (json.is_number()) numbers.emplace_back(name, json.get<double>());
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    add_numbers(value, fmt::format("{}/{}", name, key), numbers);
  }
}

}  // namespace

Option tensorboard_option() {
  return {.name = "tensorboard",
          .type = ValueType::kPath,
          .unit = "DIR",
          .help = "folder for a file of events that TensorBoard reads",
          .stored = false,
          .topic = Topic::kOutput};
}

std::unique_ptr<EventFile> event_file(const Options& options, int64_t first_step) {
  if (!options.has("tensorboard") || !is_rank0()) return nullptr;
  auto events = std::make_unique<EventFile>(options.path("tensorboard"));
  if (options.has("resume") || OutputDirectory::begun_before(options)) {
    events->start_again(first_step);
  }
  return events;
}

DrawsOnBoard::DrawsOnBoard(EventFile* events, const RunPlan& plan, ImageSize image,
                           const Ranks& ranks)
    : events_(events),
      plan_(plan),
      image_(image),
      ranks_(ranks),
      every_(std::max<int64_t>(1, plan.steps / plan.thin / kMostDraws)) {}

void DrawsOnBoard::on_draw(int64_t draw, const ChainState& state) {
  last_ = state.x.narrow(0, 0, std::min(kShownPictures, state.chains()));
  if (draw % every_ != 0) return;
  step_ = (draw + 1) * plan_.thin;
  const torch::Tensor all = ranks_.gather(state.current.untempered()).to(torch::kCPU).contiguous();
  if (!events_) return;
  events_->scalars(step_, {{"energy/mean", all.mean().item<double>()},
                           {"energy/least", all.min().item<double>()}});
  put_energies(*events_, step_, all);
}

void DrawsOnBoard::on_end() {
  if (!last_.defined()) return;
  const torch::Tensor all = ranks_.gather(last_).cpu();
  if (events_) put_pictures(*events_, step_, all, image_);
}

void put_energies(EventFile& events, int64_t step, const torch::Tensor& energy) {
  events.histogram(step, "energy/chains", numbers(energy));
}

void put_pictures(EventFile& events, int64_t step, const torch::Tensor& x, ImageSize image) {
  if (x.scalar_type() != torch::kUInt8 || x.size(1) != image.height * image.width) return;
  const torch::Tensor shown = x.slice(0, 0, kShownPictures);
  events.picture(step, "states",
                 picture_grid(shown, image.height, image.width, kColumns, picture_scale(shown)));
}

void put_numbers(EventFile& events, int64_t step, const Json& result,
                 const std::vector<const char*>& entries) {
  std::vector<std::pair<std::string, double>> numbers;
  for (const char* entry : entries) {
    if (result.contains(entry)) add_numbers(result[entry], entry, numbers);
  }
  events.scalars(step, numbers);
}

}  // namespace isinglass
