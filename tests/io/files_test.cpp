#include "io/files.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <fstream>

#include "tests/support/full_disk.h"
#include "tests/support/scratch.h"

namespace isinglass::files_test {
namespace {

namespace fs = std::filesystem;

// Returns bytes that zlib cannot compress much.
std::string varied_bytes(size_t size) {
  std::string bytes(size, '\0');
  uint32_t state = 1;
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
  return bytes;
}

std::string gzip(const std::string& bytes) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Root may write anywhere, so that such a test runs as the user nobody.
class NotRoot {
 public:
  NotRoot() : user_(geteuid()) {
    if (user_ == 0 && seteuid(65534) != 0) std::abort();
  }
  ~NotRoot() {
    if (seteuid(user_) != 0) std::abort();
  }

 private:
  uid_t user_;
};

// Tests the function that a signal handler calls to end the program.
TEST(Files, UnfinishedOnesCanBeRemovedAtAnyMoment) {
  const Scratch scratch;
  write_file(scratch / "finished", "whole");
  AtomicFile first(scratch / "a"), second(scratch / "b");
  first.write("half");
  {
    AtomicFile given_up(scratch / "c");
  }
  second.write("whole");
  second.commit();
  remove_unfinished_files();
  EXPECT_EQ(scratch.files(), 2u);
  EXPECT_EQ(read_file(scratch / "finished"), "whole");
  EXPECT_EQ(read_file(scratch / "b"), "whole");
}

TEST(Files, WhatIsWrittenIsRead) {
  const Scratch scratch;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{65536}, size_t{3000001}}) {
    const std::string bytes = varied_bytes(size);
    write_file(scratch / "data", bytes);
    EXPECT_EQ(read_file(scratch / "data"), bytes);
  }
  EXPECT_EQ(scratch.files(), 1u);
}

TEST(Files, ReadErrorsNameTheFileAndTheReason) {
  const Scratch scratch;
  EXPECT_ERROR(read_file(scratch / "absent"), (scratch / "absent").string());
  EXPECT_ERROR(read_file(scratch / "absent"), "No such file or directory");
  EXPECT_ERROR(read_file(scratch.folder()), "Is a directory");
  write_file(scratch / "secret", "x");
  fs::permissions(scratch / "secret", fs::perms::none);
  const NotRoot nobody;
  EXPECT_ERROR(read_file(scratch / "secret"), "Permission denied");
}

TEST(Files, WriteErrorsNameTheFileAndTheReason) {
  const Scratch scratch;
  write_file(scratch / "file", "x");
  fs::create_directory(scratch / "folder");
  EXPECT_ERROR(write_file(scratch / "absent/file", "y"), "No such file or directory");
  EXPECT_ERROR(write_file(scratch / "file/below", "y"), "Not a directory");
  EXPECT_ERROR(write_file(scratch / "folder", "y"), "it is a directory");
  EXPECT_ERROR(write_file(scratch / "folder/", "y"), "it is a directory");
  fs::permissions(scratch.folder(), fs::perms::owner_read | fs::perms::others_exec);
  const NotRoot nobody;
  EXPECT_ERROR(write_file(scratch / "new", "y"), "Permission denied");
}

// The rename fails because a directory has appeared meanwhile; an older errno is not reported.
TEST(Files, AFailingCommitNamesItsOwnReason) {
  const Scratch scratch;
  AtomicFile out(scratch / "file");
  out.write("x");
  fs::create_directory(scratch / "file");
  errno = ENOSPC;
  EXPECT_ERROR(out.commit(), "cannot write " + (scratch / "file").string() + ": Is a directory");
}

TEST(Require, EvaluatesItsMessageAfterTheConditionAndOnlyOnFailure) {
  int order = 0, condition_at = 0, message_at = 0;
  const auto condition = [&](bool holds) {
    condition_at = ++order;
    return holds;
  };
  const auto message = [&] { return message_at = ++order; };
  require(condition(true), "number {}", message());
  EXPECT_EQ(condition_at, 1);
  EXPECT_EQ(message_at, 0);
  EXPECT_ERROR(require(condition(false), "number {}", message()), "number 3");
  EXPECT_EQ(condition_at, 2);
}

TEST(Files, AFullDiskLeavesTheOldFileAndNothingElse) {
  const Scratch scratch;
  write_file(scratch / "data", "old");
  {
    const FullDisk disk(1 << 20);
    EXPECT_ERROR(write_file(scratch / "data", varied_bytes(3 << 20)), "File too large");
    EXPECT_ERROR(write_file(scratch / "new", varied_bytes(3 << 20)), "File too large");
  }
  EXPECT_EQ(read_file(scratch / "data"), "old");
  EXPECT_EQ(scratch.files(), 1u);
}

TEST(Files, WithoutACommitTheOldFileStays) {
  const Scratch scratch;
  write_file(scratch / "data", "old");
  {
    AtomicFile file(scratch / "data");
    file.write("new");
    EXPECT_EQ(scratch.files(), 2u);
  }
  EXPECT_EQ(read_file(scratch / "data"), "old");
  EXPECT_EQ(scratch.files(), 1u);
}

TEST(Files, APartLeftByAKilledProcessIsOverwritten) {
  const Scratch scratch;
  std::ofstream(scratch / "data.part") << "a long remainder of an earlier attempt";
  write_file(scratch / "data", "new");
  EXPECT_EQ(read_file(scratch / "data"), "new");
  EXPECT_EQ(scratch.files(), 1u);
}

TEST(Files, TwoWritersOfOneFileAreAnError) {
  const Scratch scratch;
  AtomicFile first(scratch / "data");
  EXPECT_ERROR(AtomicFile(scratch / "data"), "another process is writing it");
  first.write("first");
  first.commit();
  EXPECT_EQ(read_file(scratch / "data"), "first");
}

TEST(Gzip, PlainAndCompressedFilesReadTheSame) {
  const Scratch scratch;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1} << 20, size_t{2500000}}) {
    const std::string bytes = varied_bytes(size);
    write_file(scratch / "plain", bytes);
    write_file(scratch / "packed", gzip(bytes));
    EXPECT_EQ(read_maybe_gzip(scratch / "plain", size), bytes);
    EXPECT_EQ(read_maybe_gzip(scratch / "packed", size), bytes);
  }
}

TEST(Gzip, ConcatenatedMembersAreOneFile) {
  const Scratch scratch;
  write_file(scratch / "packed", gzip("one ") + gzip("") + gzip("two"));
  EXPECT_EQ(read_maybe_gzip(scratch / "packed", 100), "one two");
}

TEST(Gzip, TheLimitIsExact) {
  const Scratch scratch;
  const std::string zeros(100000, '\0');
  for (const std::string& bytes : {zeros, gzip(zeros)}) {
    write_file(scratch / "data", bytes);
    EXPECT_EQ(read_maybe_gzip(scratch / "data", 100000), zeros);
    EXPECT_ERROR(read_maybe_gzip(scratch / "data", 99999), "more than 99999 bytes");
  }
}

TEST(Gzip, EveryTruncationIsAnError) {
  const Scratch scratch;
  const std::string packed = gzip(varied_bytes(40));
  for (size_t length = 2; length < packed.size(); ++length) {
    write_file(scratch / "packed", packed.substr(0, length));
    EXPECT_ERROR(read_maybe_gzip(scratch / "packed", 1000), "truncated gzip");
  }
}

TEST(Gzip, DamageAndTrailingBytesAreErrors) {
  const Scratch scratch;
  const std::string packed = gzip("some text, some text, some text");
  std::string wrong_sum = packed, wrong_method = packed, wrong_data = packed;
  wrong_sum[packed.size() - 5] ^= 1;
  wrong_method[2] = 7;
  wrong_data[10] = '\x07';  // block type 3 does not exist
  for (const std::string& bytes : {wrong_sum, wrong_method, wrong_data}) {
    write_file(scratch / "packed", bytes);
    EXPECT_ERROR(read_maybe_gzip(scratch / "packed", 1000), "corrupt gzip");
  }
  write_file(scratch / "packed", packed + "abc");
  EXPECT_ERROR(read_maybe_gzip(scratch / "packed", 1000), "3 bytes after the end");
}

}  // namespace
}  // namespace isinglass::files_test
