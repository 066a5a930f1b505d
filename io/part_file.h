// The temporary file FILE.part, to which AtomicFile and ContinuedFile write before they give it its
// name. All functions throw Error that names the file and the system's reason.
#pragma once

#include <filesystem>
#include <string_view>

namespace isinglass {

// Opens and locks FILE.part for writing, and creates it if there is none. Its content stays. A part
// that another process is writing is an Error. On a file system without locks (some network file
// systems) the lock is skipped.
int open_part(const std::filesystem::path& file, const std::filesystem::path& part);

// Throws Error if the path is that of a directory or has no name.
void require_no_folder(const std::filesystem::path& file);

void write_part(int descriptor, const std::filesystem::path& file, std::string_view bytes);
void empty_part(int descriptor, const std::filesystem::path& file);

// Flushes the part to the disk (fsync), and renames it to the file.
void name_part(int descriptor, const std::filesystem::path& part,
               const std::filesystem::path& file);

}  // namespace isinglass
