// A folder for a test's files, removed with everything in it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "io/error.h"

namespace isinglass {

class Scratch {
 public:
  Scratch() {
    std::string pattern = testing::TempDir() + "isinglass_io_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~Scratch() {
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
    std::filesystem::remove_all(folder_);
  }
  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  const std::filesystem::path& folder() const { return folder_; }

  size_t files() const {
    const auto entries = std::filesystem::directory_iterator(folder_);
    return std::distance(begin(entries), end(entries));
  }

 private:
  std::filesystem::path folder_;
};

// Returns the message of the Error that the call throws. No error or another type fails the test.
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
    ADD_FAILURE() << "no error was thrown";
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not an Error: " << error.what();
  }
  return {};
}

// Expects an Error whose message is one sentence and contains `words`.
#define EXPECT_ERROR(call, words)                                                       \
  do {                                                                                  \
    const std::string sentence = error_of([&] { call; });                               \
    EXPECT_NE(sentence.find(words), std::string::npos) << "the error is: " << sentence; \
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << "the error is: " << sentence;  \
  } while (false)

}  // namespace isinglass
