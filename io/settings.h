// Settings: numbers and text by name, which a saved computation carries and the one that goes on
// with it must share.
#pragma once

#include <string>

#include "io/error.h"
#include "io/pt/pt_file.h"

namespace isinglass {

// "radius = 5, balancing = sqrt"; "none" without any.
std::string settings_text(const PtDict& settings);

// Throws Error naming the first setting that differs, or that only one of them has. `what` is the
// subject: the file that holds the saved ones, say.
void require_same_settings(const PtDict& saved, const PtDict& own, const std::string& what);

// What was saved is of another version of the program.
class OtherFormat : public Error {
 public:
  using Error::Error;
};

// Throws OtherFormat if `saved` is not the format that this program writes; `instead` is what can be
// done: "anneal anew".
void require_format(int64_t saved, int64_t own, const std::string& what,
                    const std::string& instead);

}  // namespace isinglass
