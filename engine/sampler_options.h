// What is said of a sampler's options wherever they are listed: in a front end's help and in
// documents. Their ranges and defaults are those of the samplers that read them (SamplerOptionUse, engine/sampler.h).
#pragma once

#include <string>
#include <vector>

namespace isinglass {

struct SamplerOptionText {
  enum class Kind { kNumber, kSwitch, kChoice };

  std::string name;
  Kind kind;
  std::string unit;  // what stands for the value: R, NAME; empty for switches
  std::string help;  // names other options as errors do (io/error.h)
  std::vector<std::string> choices = {};
};

// Every option that a sampler of the registry may read, in the order of help.
const std::vector<SamplerOptionText>& sampler_option_texts();

}  // namespace isinglass
