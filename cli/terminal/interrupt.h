// The first SIGINT or SIGTERM sets a flag that the loops ask for between steps: what was done is
// saved. A second one ends the program at once, with exit code 130, wherever it is; no file is left
// half-written (io/files.h).
#pragma once

namespace isinglass {

void watch_signals();
bool interrupted();

}  // namespace isinglass
