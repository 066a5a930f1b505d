// NumPy's .npz files (numpy.savez, savez_compressed): zip archives of .npy files, each an array of
// its name.
#pragma once

#include <filesystem>

#include "io/pt/pt_file.h"

namespace isinglass {

// Throws Error naming the file, and the array where there is one, as read_npy does; all arrays
// together are at most 2 GiB.
NamedTensors read_npz(const std::filesystem::path& file);

}  // namespace isinglass
