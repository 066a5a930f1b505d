// Texts that describe the sampler options wherever they are listed: in the help of the command line
// and in documents. Ranges and defaults come from the samplers that read an option
// (SamplerOptionUse, engine/options.h).
#pragma once

#include <string>
#include <vector>

namespace isinglass {

struct SamplerOptionText {
  enum class Kind { kNumber, kSwitch, kChoice };

  std::string name;
  Kind kind;
  std::string unit;  // stands for the value in help texts, e.g. R or NAME; empty for switches
  std::string help;  // refers to other options as error messages do (io/error.h)
  std::vector<std::string> choices = {};
};

// Returns every option that a sampler of the registry may read, in the order of the help text.
const std::vector<SamplerOptionText>& sampler_option_texts();

}  // namespace isinglass
