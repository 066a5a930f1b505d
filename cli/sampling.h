// One measured run of a sampler on a model, as options say: what `isinglass sample` does once, and
// `isinglass ablate` once a cell.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/options/options.h"
#include "engine/observers/recorder.h"
#include "engine/observers/best_solution.h"
#include "engine/annealing/cooling.h"
#include "engine/run/run.h"
#include "io/error.h"
#include "io/torch.h"

namespace isinglass {

inline constexpr double kLargestStep = 4294967295.0;  // steps are numbered by 32 bits

// The --burn-in, --steps and --thin of a run.
RunPlan plan_of(const Options& options);

// --instance, or --model with its parameters, on the device. Sets --model.
std::shared_ptr<EnergyModel> sampled_model(Options& options, torch::Device device);

class Sampling {
 public:
  // Makes model, sampler and chains from the options of `sample`, and sets those that it resolves.
  // A given model (on the device) stands for --model, --weights and --instance. Throws Error for
  // what does not fit together or into memory.
  Sampling(Options& options, torch::Device device, std::shared_ptr<EnergyModel> model = nullptr);

  EnergyModel& model() const { return *model_; }
  Recorder::Shape draws() const;
  // Of the run's draws and its --statistic; of whole states too, in `file` if one is named.
  Recorder recorder(bool keep_samples, std::filesystem::path file = {}) const;

  // Burn-in, in which alone anything adapts, then the steps that count. Ends early, with fewer
  // steps, when the program is interrupted.
  const RunResult& run(Recorder& recorder, std::vector<Observer*> observers);

  // Of the run: acceptance, speed, ESS, … of what the recorder kept (sample_summary.h).
  nlohmann::ordered_json summary(const Recorder& recorder) const;
  // Of the kept steps.
  const Statistics& statistics() const { return state_.statistics; }
  // What is amiss with what the run adapted; empty: nothing.
  std::string complaint() const {
    return result_.adaptation ? spell_options(result_.adaptation->complaint, "--") : std::string();
  }
  NamedTensors learned() const { return sampler_->learned(state_); }
  // uint8 [1, D]: the best solution that a run of a graph problem found; undefined: none.
  torch::Tensor solution() const { return best_ ? best_->state() : torch::Tensor(); }

 private:
  EnergyModel& target() const { return cooling_ ? cooling_->model() : *model_; }
  void seek_solutions();

  const Options& options_;
  RunPlan plan_;
  std::shared_ptr<EnergyModel> model_;
  std::unique_ptr<Cooling> cooling_;
  std::unique_ptr<BestSolution> best_;
  std::unique_ptr<Sampler> sampler_;
  Statistic statistic_;
  ChainState state_;
  StepParams params_;
  RunResult result_;
};

}  // namespace isinglass
