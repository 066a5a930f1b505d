// Assembles what a bench measures from its spec: model, sampler, chains, and their stages.
#pragma once

#include <memory>
#include <vector>

#include "io/torch.h"
#include "lab/bench/stages.h"
#include "lab/run/assemble.h"
#include "lab/spec/spec.h"

namespace isinglass {

// Throws Error if the spec names stages that do not exist.
void check_stages(const BenchSpec& spec);

class Bench {
 public:
  // Throws Error if parts of the spec do not fit together or do not fit into memory.
  Bench(BenchSpec spec, torch::Device device, Stop stop = {});

  // Returns what is measured, with all defaults filled in and files resolved.
  const BenchSpec& spec() const { return spec_; }

  // Returns the stages of the spec or, if it names none, all that the model and the sampler have.
  // Makes the chains, with their burn-in. Throws Error for a named stage that they lack.
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
