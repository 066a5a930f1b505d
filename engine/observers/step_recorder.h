// How chains moved: acceptance and hops per step, for every draw and chain.
#pragma once

#include "engine/observers/gathered_draws.h"
#include "engine/run/run.h"
#include "io/pt/pt_file.h"

namespace isinglass {

class StepRecorder : public Observer {
 public:
  // Of chains that ranks share, rank 0 keeps all.
  explicit StepRecorder(const RunPlan& plan, const Ranks& ranks = Ranks::alone());

  void on_step(int64_t step, bool burn_in, const ChainState& state) override;
  void on_draw(int64_t draw, const ChainState& state) override;
  void on_save() override { on_end(); }
  void on_end() override;

  // As the recorder's (recorder.h), added to its dictionary: `acceptance` and `hops`.
  void save_draws(int64_t first, PtDict& dict) const;
  void restore_draws(int64_t draws, const PtDict& saved, const std::string& file);
  // By all ranks together: the sums since the last draw, float64 [chains] of all; and back, with this
  // rank's part.
  PtDict sums() const;
  void restore_sums(const PtDict& saved, Share own, torch::Device device);

  // Both float64 [draws, chains].
  torch::Tensor acceptance() const { return acceptance_.all().narrow(0, 0, made_); }
  torch::Tensor hops() const { return hops_.all().narrow(0, 0, made_); }

 private:
  void begin(int64_t own, int64_t chains, torch::Device device);

  RunPlan plan_;
  const Ranks& ranks_;
  torch::Tensor steps_acceptance_, steps_hops_;  // float64 [chains]: sums since the last draw
  GatheredDraws acceptance_, hops_;
  int64_t made_ = 0;
};

}  // namespace isinglass
