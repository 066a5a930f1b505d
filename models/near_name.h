// Finds the name that was meant by one that is not known.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace isinglass {

// Returns the number of letters to insert, delete or replace, and of neighbouring letters to
// exchange (the distance of optimal string alignment).
size_t edit_distance(const std::string& a, const std::string& b);

// Returns the known name that is nearest to `name`, or an empty text if none is near: at most a
// third of its letters differ, as in the suggestions of Clang, or one begins with the other or with
// four letters of it.
std::string near_name(const std::string& name, const std::vector<std::string>& known);

}  // namespace isinglass
