// --tensorboard DIR: what a command does, as TensorBoard shows it.
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

// Null without the option, and on ranks that write nothing. Of a run that goes on, or of a restarted
// job, the file begins with what makes the reader forget earlier events from this step on.
std::unique_ptr<EventFile> event_file(const Options& options, int64_t first_step = 0);

// Of draws: the chains' energies, and in the end pictures of the last states where these are images.
class DrawsOnBoard : public Observer {
 public:
  // `events` may be null: on other ranks, which send their chains.
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
  torch::Tensor last_;  // of this rank's first chains
};

// Of chains: a histogram of their energies, and pictures of some where they are binary images.
void put_energies(EventFile& events, int64_t step, const torch::Tensor& energy);
void put_pictures(EventFile& events, int64_t step, const torch::Tensor& x, ImageSize image);

// Those of these entries of a result that are there: its numbers, of all depths, with "/" between names.
void put_numbers(EventFile& events, int64_t step, const nlohmann::ordered_json& result,
                 const std::vector<const char*>& entries);

}  // namespace isinglass
