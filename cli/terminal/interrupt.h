// Handling of signals. The first SIGINT, SIGTERM or SIGHUP sets a flag that the loops check between
// steps, so that finished work is saved. SIGHUP (a closed terminal) stays ignored if it was ignored
// at the start, as under nohup. A second signal other than SIGHUP ends the program at once with
// exit code 130. No file is left half-written (io/files.h).
#pragma once

namespace isinglass {

void watch_signals();
bool interrupted();

}  // namespace isinglass
