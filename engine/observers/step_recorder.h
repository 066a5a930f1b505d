// Records how chains moved: acceptance and the number of sites changed, as means per step, for
// every draw and chain.
#pragma once

#include "engine/observers/gathered_draws.h"
#include "engine/run/run.h"
#include "io/pt/pt_file.h"

namespace isinglass {

class StepRecorder : public Observer {
 public:
  // If ranks share the chains, rank 0 records all of them.
  explicit StepRecorder(const RunPlan& plan, const Ranks& ranks = Ranks::single_process());

  void on_step(int64_t step, bool burn_in, const ChainState& state) override;
  void on_draw(int64_t draw, const ChainState& state) override;
  void on_save() override { on_end(); }
  void on_end() override;

  // save_draws() adds `acceptance` and `hops`, from draw `first` on, to the recorder's dictionary
  // (recorder.h). restore_draws() reads them back; `draws` is the number of the last draw.
  void save_draws(int64_t first, PtDict& dict) const;
  void restore_draws(int64_t draws, const PtDict& saved, const std::string& file);
  // All ranks call sums() together. It returns the sums over the steps since the last draw, float64
  // [chains], for the chains of all ranks. restore_sums() reads this rank's part of them.
  PtDict sums() const;
  void restore_sums(const PtDict& saved, Shard own, torch::Device device);

  // Both return float64 [draws, chains].
  torch::Tensor acceptance() const { return acceptance_.all().narrow(0, 0, made_); }
  torch::Tensor hops() const { return hops_.all().narrow(0, 0, made_); }

 private:
  void begin(int64_t own, int64_t chains, torch::Device device);

  RunPlan plan_;
  const Ranks& ranks_;
  torch::Tensor steps_acceptance_, steps_hops_;  // float64 [B]: sums since the last draw
  GatheredDraws acceptance_, hops_;
  int64_t made_ = 0;
};

}  // namespace isinglass
