// NumPy's arrays that Python 2 or 3 pickled (pickle.h), of the types of numpy_array.h: one by
// itself or as the one element of a list, as in freyfaces.pkl, or several by name in a dictionary,
// as in histopathology.pkl, or as pairs of images and classes, as in mnist.pkl. Arrays that their
// file does not hold, such as one that is repeated a million times, are refused.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "io/torch.h"

namespace isinglass {

// The one array, of its shape. Throws Error naming the file if it holds anything else or is
// damaged.
torch::Tensor read_numpy_pickle(const std::filesystem::path& file);

// Reads the arrays of a dictionary by name; N arrays of one shape in a list are one of [N, …].
// Throws Error alike.
std::map<std::string, torch::Tensor> read_numpy_dictionary(const std::filesystem::path& file);

}  // namespace isinglass
