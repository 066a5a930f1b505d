// Keeps the draws of a run: in memory, or, where they do not fit, in a file that the system maps.
//
// A sampler that knows the change of the energy adds it up, step by step, and rounding with it. The
// recorder therefore evaluates the target at the first and the last draw and every few thousand
// steps, and corrects by what it finds; where it found anything, energies that differ by no more
// than the rounding of the steps in between are recorded as one (engine/diagnostics/ties.h), so
// that a state has one energy. Chains never see that.
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
    torch::ScalarType type;  // of states
    double bytes() const;    // of the states of all draws
  };

  // The target, evaluated at every so many draws; null: its energies come from evaluations anyway.
  struct Renewal {
    EnergyModel* target;
    int64_t every;
  };

  // Keeps energies and, if one is given, another statistic. Keeps states only if keep_samples;
  // `file`, if not empty, holds them (it is made anew, and removed in the end). Throws Error if the
  // file cannot be made. Of chains that ranks share, rank 0 keeps all.
  Recorder(const Shape& shape, Statistic statistic, bool keep_samples,
           std::filesystem::path file = {}, const Ranks& ranks = Ranks::alone(),
           Renewal renewal = {nullptr, 1});
  ~Recorder() override;

  void on_draw(int64_t draw, const ChainState& state) override;
  bool every_step(bool) const override { return false; }
  void on_save() override;
  void on_end() override;

  // The draws from this one on, for a file, after on_save(): `samples`, `energy` and `statistic`, what
  // there is of them. And the next draws, up to so many in all, out of such a file; on other ranks
  // than 0 their number alone counts, and `saved` is empty.
  PtDict saved(int64_t first) const;
  void restore(int64_t draws, const PtDict& saved, const std::string& file);
  // By all ranks together: what it knows of the chains' energies, float64 [chains], undefined: nothing
  // that counts; and back, this rank's part.
  torch::Tensor saved_correction() const;
  void restore_correction(const torch::Tensor& own);

  int64_t made() const { return made_; }
  torch::Tensor energy() const {
    return energy_.all().narrow(0, 0, made_);
  }  // float64 [draws, chains]
  // The statistic, or without one the energy.
  torch::Tensor statistic() const {
    return statistic_ ? values_.all().narrow(0, 0, made_) : energy();
  }
  // [draws, chains, sites], with a storage of its own size.
  torch::Tensor samples() const;

 private:
  torch::Tensor storage(int64_t draws) const;
  void evaluate(const ChainState& state);

  Shape shape_;
  Statistic statistic_;
  std::filesystem::path file_;
  const Ranks* ranks_;
  Renewal renewal_;
  Evaluation fresh_;
  torch::Tensor correction_;  // float64 [B]: of the energies that the chains carry
  bool carried_ = false;      // whether it ever was other than 0
  GatheredDraws energy_, values_, samples_;
  int64_t made_ = 0;
};

}  // namespace isinglass
