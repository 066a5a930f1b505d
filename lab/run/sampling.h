// Makes one measured run of a sampler on a model from a spec. It is a run of `isinglass sample`, or
// a cell of a grid.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/annealing/cooling.h"
#include "engine/annealing/temperature_range.h"
#include "engine/observers/best_solution.h"
#include "engine/observers/mixing.h"
#include "engine/observers/recorder.h"
#include "engine/run/run.h"
#include "io/torch.h"
#include "lab/run/assemble.h"
#include "lab/run/inpainting.h"
#include "lab/run/tempering.h"
#include "lab/spec/spec.h"
#include "models/conditional/restriction.h"

namespace isinglass {

// Returns the burn-in, steps and thinning of a run. Throws Error if they do not go together.
RunPlan plan_of(const SampleSpec& spec);

// Names a data set that a run has read.
struct DataIdentity {
  std::string name, sha256;
};

class Sampling {
 public:
  // Makes the model, the sampler and this rank's share of the chains. A given model, given data and
  // given restrictions replace those of the spec, and given states (of all chains) replace its
  // `init`. Throws Error for what does not fit together or does not fit into memory.
  Sampling(SampleSpec spec, Context context, Given given = {});

  // Returns the spec with all defaults filled in and files resolved.
  const SampleSpec& spec() const { return spec_; }
  // Returns the model of whole states, whether or not they are restricted.
  EnergyModel& model() const { return *whole_; }
  Recorder::Shape draws() const;
  // Returns a recorder of the run's draws and its `statistic`. It also keeps whole states if
  // keep_samples, in `file` if that is not empty.
  Recorder recorder(bool keep_samples, std::filesystem::path file = {}) const;

  // Makes R̂ the worst of several statistics (engine/observers/mixing.h) and not that of
  // `statistic` alone. Call it before the run.
  void watch_mixing();
  // Makes run() keep what there is when a step throws; the result has the exception. Call it before
  // the run.
  void keep_failure() { plan_.keeps_failure = true; }

  // Makes the burn-in, the only part in which anything adapts, then the steps that count. Ends
  // early, with fewer steps, if it is stopped. If a saver (saved_sampling.h) is given, it saves on
  // the way.
  const RunResult& run(Recorder& recorder, std::vector<Observer*> observers,
                       RunSaver* saver = nullptr);

  // saved() returns the whole state of the run at a moment, without its draws; restore() continues
  // from it with bit-identical results, on the same or another number of ranks. All ranks call both
  // together. restore() throws Error, naming what differs, if the checkpoint belongs to another
  // run.
  PtDict saved(const RunProgress& progress) const;
  void restore(const PtDict& saved);
  const RunProgress& made() const { return plan_.made; }  // Returns the progress made before run().
  bool saves_burn_in() const { return isinglass::saves_burn_in(*sampler_, plan_); }
  Shard own_chains() const { return own_; }
  torch::Device device() const { return context_.device; }

  // Returns the summary of the run (summary.h): acceptance, speed, ESS and more, from what the
  // recorder kept. Only rank 0 calls it.
  nlohmann::ordered_json summary(const Recorder& recorder) const;
  // Returns the statistics of this rank's chains over the kept steps.
  const Statistics& statistics() const { return state_.statistics; }
  // Returns a warning about the adaptation, a text that names options (io/error.h), or an empty
  // text. Chains of an annealing run are meant to come to rest, so that it gives none.
  std::string warning() const {
    return result_.adaptation && !spec_.anneal ? result_.adaptation->warning : std::string();
  }
  // Returns the images whose missing pixels are sampled, if any.
  const std::optional<Inpainting>& inpainting() const { return inpainting_; }
  NamedTensors learned() const {
    return sampler_->warmup() ? sampler_->warmup()->learned(state_) : NamedTensors{};
  }
  // Returns the rungs of the replicas of the first ensemble over the last scans, int16 [H, R];
  // undefined if the run is not tempered.
  torch::Tensor rung_history() const { return tempering_report_.history; }
  // Returns the best state that an annealing run, or any run on a graph problem, found, uint8
  // [1, D]; undefined if there is none.
  torch::Tensor solution() const { return best_ ? best_->state() : torch::Tensor(); }

 private:
  EnergyModel& target() const { return cooling_ ? cooling_->model() : *model_; }
  std::shared_ptr<EnergyModel> make_model();
  torch::Tensor known_pixels(std::string& source);
  void restrict_states(const Given& given);
  Shard own_chains_of(int64_t chains) const;
  void choose_population();
  int64_t group_size() const;
  void seek_solutions();
  void choose_sampler(bool restricted, bool narrowed);
  void prepare_annealing(const torch::Tensor& given, double begin);
  Temperatures chosen_range(const torch::Tensor& given);
  int64_t chosen_burn_in(const torch::Tensor& given, double begin, double share = 1);
  void choose_chains(double begin);
  double seconds_so_far() const;
  void read_warm_start();
  void make_sampler();
  torch::Tensor saved_states(const torch::Tensor& given);
  torch::Tensor start_states(const torch::Tensor& given);
  torch::Tensor fresh_states();
  torch::Tensor data_states(const StateSpace& space);
  torch::Tensor chain_ids() const;
  const Ranks& ranks() const { return *context_.ranks; }
  PtDict identity() const;  // Returns the fields that a checkpoint must agree with.
  void note_data(const Dataset& data);

  SampleSpec spec_;
  RunPlan plan_;
  Context context_;
  Shard own_;                      // Holds this rank's share of the chains.
  std::optional<Dataset> images_;  // Replaces the spec's data if given.
  std::optional<DataIdentity> data_;
  std::shared_ptr<EnergyModel> whole_, model_;  // They differ if the states are restricted.
  std::optional<Restriction> restriction_;      // Holds that of this rank's chains.
  std::string restriction_sha256_;
  int64_t alike_ = 0;  // Counts the consecutive chains that share a target.
  // True until `time` has chosen the number of chains, and that of a population.
  bool open_chains_ = false, open_population_ = false;
  std::optional<Inpainting> inpainting_;
  std::unique_ptr<Cooling> cooling_;
  std::unique_ptr<BestSolution> best_;
  std::unique_ptr<RangeWatch> range_;
  // Hold the time of burn-in and steps in earlier sittings, the moment when this one began, and the
  // time of all [s].
  double seconds_before_ = 0, begun_ = 0, seconds_ = 0;
  std::unique_ptr<MixingWatch> mixing_;
  std::unique_ptr<Sampler> sampler_;
  // Points to the sampler if that is tempering; else null.
  const ParallelTempering* tempering_ = nullptr;
  TemperingReport tempering_report_;
  Statistic statistic_;
  ChainState state_;
  StepParams params_;
  RunResult result_;
};

}  // namespace isinglass
