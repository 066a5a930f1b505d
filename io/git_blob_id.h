// The id that Git gives to a file, to check files against those of a published repository.
#pragma once

#include <string>
#include <string_view>

namespace isinglass {

// Returns the id of a file with these bytes, 40 hexadecimal digits: the SHA-1 of "blob SIZE NUL
// bytes".
std::string git_blob_id(std::string_view bytes);

}  // namespace isinglass
