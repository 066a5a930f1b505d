// Chooses the states where the reverse chains of an evaluation start: exact draws of the model if
// it has them, else what the spec says: states of long chains, of a file, or of a tempering ladder
// (tempered_start.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/annealing/ais.h"
#include "lab/spec/spec.h"

namespace isinglass {

inline constexpr const char* kExactStart = "exact";
inline constexpr const char* kChainsStart = "chains";
inline constexpr const char* kTemperedStart = "tempering";
// Means "chains" in the first round and "tempering" in later rounds if the chains have not mixed.
inline constexpr const char* kAnyStart = "auto";

// Returns true if reverse-from names a file of states.
bool starts_from_file(const std::string& said);

// Returns the spec's start, by name or file. If the spec names none or "auto", returns "exact" for
// a model with exact draws and "auto" otherwise. Throws Error for "exact" if the model has no exact
// draws.
std::string resolved_reverse_start(const std::string& said, const EnergyModel& model);

// Returns the start of the reverse chains. first_chain is the number of the first of the chains
// whose random numbers exact draws use. Throws Error for a file whose states are not the model's or
// are too few. For "tempering" the states are left undefined; the ladder provides them later.
ReverseStart reverse_start(const std::string& resolved, EnergyModel& model, int64_t chains,
                           int64_t temperatures, int64_t first_chain, uint64_t seed,
                           torch::Device device);

// Returns the entry reverse_start of ais.json.
nlohmann::ordered_json reverse_start_json(const std::string& resolved,
                                          const ReverseResult& reverse);

}  // namespace isinglass
