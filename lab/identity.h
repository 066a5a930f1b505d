// What a result is of, beside its numbers: the program, the sampler with all its options, the data.
// Of the model's parameters: models/identity.h.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/sampler.h"
#include "train/data/dataset.h"

namespace isinglass {

extern const char* const kProgramVersion;  // cmake/revision.cmake
extern const char* const kSourceRevision;

// The commit from which the program was built. Where files were changed since, or there is no
// commit, "-dirty" or "unknown" and a hash of the program itself follow: two programs have the same
// revision only if they are the same.
const std::string& program_revision();

// {"radius": 5.0, "balancing": "sqrt"}
nlohmann::ordered_json sampler_options_json(const Sampler& sampler);

// SHA-256 of the tensors of a parameter file (io/sha256.h), of any other file of its bytes. Throws
// Error if it cannot be read.
std::string file_sha256(const std::filesystem::path& file);

}  // namespace isinglass
