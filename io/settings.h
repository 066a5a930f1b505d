// Handles settings: numbers and texts by name that are saved with a computation, and that a resumed
// computation has to share.
#pragma once

#include <string>

#include "io/error.h"
#include "io/pt/pt_file.h"

namespace isinglass {

// Returns "radius = 5, balancing = sqrt", or "none" if there are no settings.
std::string settings_text(const PtDict& settings);

// Throws Error naming the first setting that differs or that only one side has. `what` is the
// subject of the message, for example the file that holds the saved settings.
void require_same_settings(const PtDict& saved, const PtDict& own, const std::string& what);

// Reports that something was saved by another version of the program.
class OtherFormat : public Error {
 public:
  using Error::Error;
};

// Throws OtherFormat unless `saved` is the format that this program writes. `instead` tells the
// user what to do: "anneal anew".
void require_format(int64_t saved, int64_t own, const std::string& what,
                    const std::string& instead);

}  // namespace isinglass
