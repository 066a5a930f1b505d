// Implements the search for a name that was meant.
#include "models/near_name.h"

#include <algorithm>
#include <numeric>

#include "models/registry.h"

namespace isinglass {

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
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
