// Event files are records with checksums. tests/ranks/tensorboard_test.py reads them with
// TensorBoard.
#include "io/events/event_file.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "io/error.h"
#include "io/files.h"
#include "tests/support/scratch.h"

namespace isinglass::event_file_test {
namespace {

TEST(EventFiles, ChecksumsAreThoseOfTheStandard) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);            // its check value
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(EventFiles, AreRecordsWithChecksums) {
  const Scratch scratch;
  EventFile events(scratch / "board");
  events.scalars(7, {{"loss", 1.5}});
  const std::string bytes = read_file(events.file());
  int records = 0;
  for (size_t at = 0; at < bytes.size(); ++records) {
    uint64_t length = 0;
    uint32_t sums[2];
    std::memcpy(&length, bytes.data() + at, 8);
    std::memcpy(&sums[0], bytes.data() + at + 8, 4);
    ASSERT_LE(at + 16 + length, bytes.size());
    std::memcpy(&sums[1], bytes.data() + at + 12 + length, 4);
    const auto masked = [](std::string_view part) {
      return std::rotr(crc32c(part), 15) + 0xa282ead8u;
    };
    EXPECT_EQ(sums[0], masked(bytes.substr(at, 8)));
    EXPECT_EQ(sums[1], masked(bytes.substr(at + 12, length)));
    at += 16 + length;
  }
  EXPECT_EQ(records, 2);
  EXPECT_NE(bytes.find("brain.Event:2"), std::string::npos);
  EXPECT_NE(bytes.find("loss"), std::string::npos);
}

TEST(EventFiles, RefuseWhatIsNoPicture) {
  const Scratch scratch;
  EventFile events(scratch / "board");
  EXPECT_THROW(events.picture(1, "states", "no PNG"), Error);
}

}  // namespace
}  // namespace isinglass::event_file_test
