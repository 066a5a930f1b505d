// Settings: numbers and text by name, which a saved computation carries and the one that goes on
// with it must share.
#pragma once

#include <string>

#include "io/pt/pt_file.h"

namespace isinglass {

// "radius = 5, balancing = sqrt"; "none" without any.
std::string settings_text(const PtDict& settings);

// Throws Error naming the first setting that differs, or that only one of them has. `what` is the
// subject: the file that holds the saved ones, say.
void require_same_settings(const PtDict& saved, const PtDict& own, const std::string& what);

}  // namespace isinglass
