// Where the reverse chains of an evaluation start: exact draws of the model where it has them, else
// what the spec says: long chains, the states of a file, or those of a ladder (tempered_start.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/annealing/ais.h"
#include "lab/spec/spec.h"

namespace isinglass {

inline constexpr const char* kExactStart = "exact";
inline constexpr const char* kChainsStart = "chains";
inline constexpr const char* kTemperedStart = "tempering";
inline constexpr const char* kAnyStart = "auto";  // chains, and a ladder once they have not mixed

// The spec's, by name or file; if it leaves it open, "exact" or "auto". Throws Error for "exact"
// of a model that has no exact draws.
std::string resolved_reverse_start(const std::string& said, const EnergyModel& model);

// first_chain: the number of the first of spec.chains chains that may draw. Throws Error for a file
// that is not one of the model's states, or holds too few of them. "tempering" leaves them open.
ReverseStart reverse_start(const std::string& resolved, EnergyModel& model, int64_t chains,
                           int64_t temperatures, int64_t first_chain, uint64_t seed,
                           torch::Device device);

// reverse_start of ais.json.
nlohmann::ordered_json reverse_start_json(const std::string& resolved,
                                          const ReverseResult& reverse);

}  // namespace isinglass
