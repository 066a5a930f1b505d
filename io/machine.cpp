// Implements the look-up of the processor's name in /proc/cpuinfo.
#include "io/machine.h"

#include <fstream>

namespace isinglass {

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace isinglass
