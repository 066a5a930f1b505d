// Records the draws of a run in memory, or in a memory-mapped file if they do not fit.
//
// A sampler that knows the change of the energy adds it up step by step, and accumulates rounding
// errors. The recorder therefore evaluates the target at the first and the last draw and every few
// thousand steps, and corrects the energies by the difference that it finds. If it ever found one,
// it finally merges energies that differ by no more than the rounding of the steps in between
// (engine/diagnostics/ties.h), so that a state has one energy. The chains are not affected.
#pragma once

#include <filesystem>

#include "engine/observers/gathered_draws.h"
#include "engine/observers/statistic.h"
#include "engine/run/run.h"
#include "io/pt/pt_file.h"
#include "io/torch.h"

namespace isinglass {

class Recorder : public Observer {
 public:
  struct Shape {
    int64_t draws, chains, sites;
    torch::ScalarType type;  // type of the states
    double bytes() const;    // size of the states of all draws
  };

  // The target, which is evaluated at every `every`-th draw. Null: the chains' energies come from
  // evaluations anyway.
  struct Refresh {
    EnergyModel* target;
    int64_t every;
  };

  // Records energies and, if given, another statistic. Records states only if keep_samples is true;
  // `file`, if not empty, holds them. The file is created anew, and removed by the destructor.
  // Throws Error if the file cannot be created. If ranks share the chains, rank 0 records all of
  // them.
  Recorder(const Shape& shape, Statistic statistic, bool keep_samples,
           std::filesystem::path file = {}, const Ranks& ranks = Ranks::single_process(),
           Refresh refresh = {nullptr, 1});
  ~Recorder() override;

  void on_draw(int64_t draw, const ChainState& state) override;
  bool every_step(bool) const override { return false; }
  void on_save() override;
  void on_end() override;

  // saved() returns the draws from `first` on, to be called after on_save(): `samples`, `energy`
  // and `statistic`, as far as they are recorded. restore() adds the next draws, up to `draws` in
  // all, from such a dictionary. On ranks other than 0, only the number of draws counts, and
  // `saved` is empty.
  PtDict saved(int64_t first) const;
  void restore(int64_t draws, const PtDict& saved, const std::string& file);
  // All ranks call saved_correction() together. It returns the known corrections of the chains'
  // energies, float64 [chains], undefined if there are none. restore_correction() takes this rank's
  // part of them.
  torch::Tensor saved_correction() const;
  void restore_correction(const torch::Tensor& own);

  int64_t made() const { return made_; }
  // Returns the energies, float64 [draws, chains].
  torch::Tensor energy() const { return energy_.all().narrow(0, 0, made_); }
  // Returns the statistic, or the energy if there is none.
  torch::Tensor statistic() const {
    return statistic_ ? values_.all().narrow(0, 0, made_) : energy();
  }
  // Returns the states [draws, chains, sites] in a storage of exactly that size.
  torch::Tensor samples() const;

 private:
  torch::Tensor storage(int64_t draws) const;
  void evaluate(const ChainState& state);

  Shape shape_;
  Statistic statistic_;
  std::filesystem::path file_;
  const Ranks* ranks_;
  Refresh refresh_;
  Evaluation fresh_;
  torch::Tensor correction_;  // float64 [B]: the current correction of the chains' energies
  bool carried_ = false;      // true once a correction other than 0 was found
  GatheredDraws energy_, values_, samples_;
  int64_t made_ = 0;
};

}  // namespace isinglass
