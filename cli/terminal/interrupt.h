// The first SIGINT, SIGTERM or SIGHUP sets a flag that the loops ask for between steps: what was
// done is saved. SIGHUP (a closed terminal) is left alone where it is ignored, as under nohup. A
// second signal, unless it is SIGHUP, ends the program at once, with exit code 130, wherever it is;
// no file is left half-written (io/files.h).
#pragma once

namespace isinglass {

void watch_signals();
bool interrupted();

}  // namespace isinglass
