// What a bench measures, as a spec says: model, sampler, chains, and their stages.
#pragma once

#include <memory>
#include <vector>

#include "io/torch.h"
#include "lab/bench/stages.h"
#include "lab/run/assemble.h"
#include "lab/spec/spec.h"

namespace isinglass {

// Throws Error if the spec names stages that there are not.
void check_stages(const BenchSpec& spec);

class Bench {
 public:
  // Throws Error for what does not fit together or into memory.
  Bench(BenchSpec spec, torch::Device device, Stop stop = {});

  // What is measured, with all defaults and files in full.
  const BenchSpec& spec() const { return spec_; }

  // Those of the spec, or all that the model and the sampler have. Makes the chains, with their
  // burn-in. Throws Error for a stage that they have not.
  std::vector<Stage> stages() const;

 private:
  std::shared_ptr<EnergyModel> loaded_or_new() const;
  std::shared_ptr<EnergyModel> new_one() const;

  BenchSpec spec_;
  torch::Device device_;
  std::shared_ptr<EnergyModel> model_;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<BenchSubject> subject_;
};

}  // namespace isinglass
