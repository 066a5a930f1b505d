// One measured run of a sampler on a model, as a spec says: a run of `isinglass sample`, or a cell
// of a grid.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/annealing/cooling.h"
#include "engine/observers/best_solution.h"
#include "engine/observers/mixing.h"
#include "engine/observers/recorder.h"
#include "engine/run/run.h"
#include "io/torch.h"
#include "lab/run/assemble.h"
#include "lab/run/tempering.h"
#include "lab/spec/spec.h"

namespace isinglass {

// The burn-in, steps and thinning of a run. Throws Error if they do not go together.
RunPlan plan_of(const SampleSpec& spec);

// A data set that a run read.
struct DataIdentity {
  std::string name, sha256;
};

class Sampling {
 public:
  // Makes model, sampler and this rank's share of the chains. A given model or data stand for the
  // spec's, given states (of all chains) for its `init`. Throws Error for what does not fit
  // together or into memory.
  Sampling(SampleSpec spec, Context context, Given given = {});

  // What the run is, with all defaults and files in full.
  const SampleSpec& spec() const { return spec_; }
  EnergyModel& model() const { return *model_; }
  Recorder::Shape draws() const;
  // Of the run's draws and its `statistic`; of whole states too, in `file` if one is named.
  Recorder recorder(bool keep_samples, std::filesystem::path file = {}) const;

  // Before the run: its R̂ is the worst of several statistics (engine/observers/mixing.h), not that
  // of its `statistic` alone.
  void watch_mixing();

  // Burn-in, in which alone anything adapts, then the steps that count. Ends early, with fewer
  // steps, when it is stopped. The saver (saved_sampling.h), if there is one, saves on the way.
  const RunResult& run(Recorder& recorder, std::vector<Observer*> observers,
                       RunSaver* saver = nullptr);

  // By all ranks together: all that the run is at a moment of it, beside its draws, so that run()
  // goes on from there to the bit, on as many ranks or another number of them. Throws Error, naming
  // what differs, if the checkpoint is of another run.
  PtDict saved(const RunProgress& progress) const;
  void restore(const PtDict& saved);
  const RunProgress& made() const { return plan_.made; }  // before run()
  bool saves_burn_in() const { return isinglass::saves_burn_in(*sampler_, plan_); }
  Share own_chains() const { return own_; }
  torch::Device device() const { return context_.device; }

  // Of the run: acceptance, speed, ESS, … of what the recorder kept (summary.h); for rank 0.
  nlohmann::ordered_json summary(const Recorder& recorder) const;
  // Of this rank's chains in the kept steps.
  const Statistics& statistics() const { return state_.statistics; }
  // Returns a warning about the adaptation, a text that names options (io/error.h); empty where
  // there is none.
  std::string complaint() const {
    return result_.adaptation ? result_.adaptation->complaint : std::string();
  }
  NamedTensors learned() const { return sampler_->learned(state_); }
  // int16 [H, R]: the rungs of the replicas of the first ensemble in the last scans; undefined:
  // not tempered.
  torch::Tensor rung_history() const { return tempering_report_.history; }
  // uint8 [1, D]: the best solution that a run of a graph problem found; undefined: none.
  torch::Tensor solution() const { return best_ ? best_->state() : torch::Tensor(); }

 private:
  EnergyModel& target() const { return cooling_ ? cooling_->model() : *model_; }
  std::shared_ptr<EnergyModel> make_model();
  void seek_solutions();
  void read_warm_start();
  void make_sampler();
  torch::Tensor saved_states(const torch::Tensor& given);
  torch::Tensor fresh_states();
  torch::Tensor data_states(const StateSpace& space);
  torch::Tensor chain_ids() const;
  const Ranks& ranks() const { return *context_.ranks; }
  PtDict identity() const;  // what a checkpoint must agree on
  void note_data(const Dataset& data);

  SampleSpec spec_;
  RunPlan plan_;
  Context context_;
  Share own_;                      // of the chains
  std::optional<Dataset> images_;  // given in place of the spec's
  std::optional<DataIdentity> data_;
  std::shared_ptr<EnergyModel> model_;
  std::unique_ptr<Cooling> cooling_;
  std::unique_ptr<BestSolution> best_;
  std::unique_ptr<MixingWatch> mixing_;
  std::unique_ptr<Sampler> sampler_;
  const ParallelTempering* tempering_ = nullptr;  // the sampler, where it is that
  TemperingReport tempering_report_;
  Statistic statistic_;
  ChainState state_;
  StepParams params_;
  RunResult result_;
};

}  // namespace isinglass
