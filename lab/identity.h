// Identifies what a result was made with, apart from its numbers: the program, the sampler with all
// its options, and the data. models/identity.h does the same for a model's parameters.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/sampler.h"
#include "train/data/dataset.h"

namespace isinglass {

extern const char* const kProgramVersion;  // cmake/revision.cmake sets both.
extern const char* const kSourceRevision;

// Returns the commit from which the program was built. If files had been changed since that commit,
// or there is no commit, "-dirty" or "unknown" and a hash of the program itself follow. Two
// programs have the same revision only if they are the same.
const std::string& program_revision();

// Returns the options with their values, such as {"radius": 5.0, "balancing": "sqrt"}.
nlohmann::ordered_json sampler_options_json(const Sampler& sampler);

// Returns the SHA-256 of the tensors of a parameter file (io/sha256.h), or of the bytes of any
// other file. Throws Error if the file cannot be read.
std::string file_sha256(const std::filesystem::path& file);

}  // namespace isinglass
