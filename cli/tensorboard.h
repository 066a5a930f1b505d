// --tensorboard DIR: writes the events of a command for TensorBoard.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/options/options.h"
#include "engine/run/run.h"
#include "io/events/event_file.h"
#include "lab/spec/spec.h"
#include "models/energy_model.h"
#include "train/metrics.h"

namespace isinglass {

Option tensorboard_option();

// Returns the event file; null without the option and on ranks that write nothing. For a resumed
// run or a restarted job, the file begins with an event that makes TensorBoard discard earlier
// events from `first_step` on.
std::unique_ptr<EventFile> event_file(const Options& options, int64_t first_step = 0);

// Writes the chains' energies at draws and, at the end, pictures of the last states if these are
// images.
class DrawsOnBoard : public Observer {
 public:
  // `events` is null on ranks that do not write but send their chains.
  DrawsOnBoard(EventFile* events, const RunPlan& plan, ImageSize image, const Ranks& ranks);
  void on_draw(int64_t draw, const ChainState& state) override;
  bool every_step(bool) const override { return false; }
  void on_end() override;

 private:
  EventFile* events_;
  RunPlan plan_;
  ImageSize image_;
  const Ranks& ranks_;
  int64_t every_, step_ = 0;
  torch::Tensor last_;  // last states of this rank's first chains
};

// Write a histogram of the chains' energies, and pictures of some chains if they are binary images.
void put_energies(EventFile& events, int64_t step, const torch::Tensor& energy);
void put_pictures(EventFile& events, int64_t step, const torch::Tensor& x, ImageSize image);

// Writes the numbers of those of the given entries that the result has, at all depths of nesting,
// with "/" between names.
void put_numbers(EventFile& events, int64_t step, const nlohmann::ordered_json& result,
                 const std::vector<const char*>& entries);

}  // namespace isinglass
