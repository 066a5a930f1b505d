// Implements the search for a name that was meant.
#include "models/near_name.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/registry.h"

namespace isinglass {

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> earlier, before, row(b.size() + 1);  // rows i − 2, i − 1 and i
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    earlier = std::exchange(before, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = before[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, substituted});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], earlier[j - 2] + 1);
    }
  }
  return row.back();
}

std::string near_name(const std::string& name, const std::vector<std::string>& known) {
  constexpr size_t kBeginning = 4;
  for (const std::string& other : nearest_first(name, known)) {
    const size_t shorter = std::min({name.size(), other.size(), kBeginning});
    const bool begins_alike = shorter > 1 && name.compare(0, shorter, other, 0, shorter) == 0;
    if (begins_alike || edit_distance(name, other) <= (name.size() + 2) / 3) return other;
  }
  return "";
}

}  // namespace isinglass
