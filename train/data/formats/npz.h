// NumPy's .npz files (numpy.savez, savez_compressed): zip archives of .npy files, each of which
// holds the array of its name.
#pragma once

#include <filesystem>

#include "io/pt/pt_file.h"

namespace isinglass {

// Reads all arrays. Throws Error as read_npy() does, naming the file and if possible the array. All
// arrays together must not exceed 2 GiB.
NamedTensors read_npz(const std::filesystem::path& file);

}  // namespace isinglass
