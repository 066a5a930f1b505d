// Files written whole or not at all, and read with one clear error.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace isinglass {

// Writes to a temporary file beside it, flushes (fsync) and renames. Throws Error naming the file and
// the system's reason (disk full, no permission, …); the temporary file is removed then.
void write_file(const std::filesystem::path& file, std::string_view bytes);

// The whole file. Throws Error if it is missing, a directory or unreadable.
std::string read_file(const std::filesystem::path& file);

// The same, gunzipped where the content starts with gzip's magic. `limit` bounds the decompressed size
// in bytes (a larger one is an Error, as is a truncated or corrupt stream).
std::string read_maybe_gzip(const std::filesystem::path& file, size_t limit);

}  // namespace isinglass
