// SIGINT and SIGTERM set a flag that the loops ask for between steps.
#pragma once

namespace isinglass {

void watch_signals();
bool interrupted();

}  // namespace isinglass
