// Damages files at random, for the tests of their readers.
//
//   for (Fuzzing fuzz(100); fuzz.next();) read(mutated(fuzz.random, file, other, kDigits));
//
// makes a hundred rounds, the same in every run. With ISINGLASS_FUZZ_SECONDS=60 a test runs for a
// minute instead, from a seed that it prints, or from ISINGLASS_FUZZ_SEED.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <string_view>

namespace isinglass {

class Fuzzing {
 public:
  explicit Fuzzing(int rounds) : rounds_(rounds) {
    const char* seconds = std::getenv("ISINGLASS_FUZZ_SECONDS");
    if (!seconds) return;
    const char* given = std::getenv("ISINGLASS_FUZZ_SEED");
    const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
    std::cout << "fuzzing for " << seconds << " s, ISINGLASS_FUZZ_SEED=" << seed << std::endl;
    random.seed(seed);
    end_ = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(seconds));
  }

  // Returns true if there is another round: the given number of them, and as many as time allows.
  bool next() { return rounds_-- > 0 || std::chrono::steady_clock::now() < end_; }

  std::mt19937_64 random{20240607};

 private:
  int rounds_;
  std::chrono::steady_clock::time_point end_ = {};
};

// Returns the bytes with one to three changes. Characters may come from `alphabet`, pieces from
// `other`.
inline std::string mutated(std::mt19937_64& random, std::string bytes, const std::string& other,
                           std::string_view alphabet) {
  static constexpr std::string_view kExtremes("\x00\x01\x7f\x80\xff", 5);
  const auto below = [&](size_t bound) { return random() % std::max<size_t>(bound, 1); };
  for (size_t changes = 1 + below(3); changes > 0 && !bytes.empty(); --changes) {
    const size_t at = below(bytes.size()), length = below(std::min<size_t>(bytes.size() - at, 16));
    switch (below(7)) {
      case 0:
        bytes[at] ^= static_cast<char>(1 << below(8));
        break;
      case 1:
        bytes[at] = alphabet[below(alphabet.size())];
        break;
      case 2:
        bytes[at] = kExtremes[below(kExtremes.size())];
        break;
      case 3:
        bytes.resize(at);
        break;
      case 4:
        bytes.erase(at, length);
        break;
      case 5:
        bytes.insert(below(bytes.size()), bytes.substr(at, length));
        break;
      case 6:
        bytes.replace(at, length, other.substr(below(other.size()), 16));
        break;
    }
  }
  return bytes;
}

}  // namespace isinglass
