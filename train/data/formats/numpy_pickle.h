// NumPy arrays pickled by Python 2 or 3 (pickle.h), of the types of numpy_array.h. A file holds a
// single array, alone or as the only element of a list (freyfaces.pkl), or several arrays, by name
// in a dictionary (histopathology.pkl) or as pairs of images and classes (mnist.pkl). Arrays whose
// bytes are not in the file, such as an array that is repeated a million times, are refused.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "io/torch.h"

namespace isinglass {

// Returns the only array, in its shape. Throws Error naming the file if it holds anything else or
// is damaged.
torch::Tensor read_numpy_pickle(const std::filesystem::path& file);

// Reads the arrays of a dictionary by name. N arrays of one shape in a list become one of shape [N,
// …]. Throws Error as read_numpy_pickle() does.
std::map<std::string, torch::Tensor> read_numpy_dictionary(const std::filesystem::path& file);

}  // namespace isinglass
