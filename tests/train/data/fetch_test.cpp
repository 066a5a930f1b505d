// Downloads of data sets from a server on the loopback address, which answers well or with a fault:
// a file gets its name only if it is the published one, and what arrived is never lost.
#include "train/data/fetch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <sstream>

#include "io/download.h"
#include "io/files.h"
#include "io/git_blob_id.h"
#include "io/sha256.h"
#include "tests/support/data_files.h"
#include "tests/support/faulty_server.h"
#include "tests/support/scratch.h"

namespace isinglass::fetch_test {
namespace {

namespace fs = std::filesystem;

// 5000 bytes without a period that a shifted continuation could hide in.
std::string long_text() {
  std::string text;
  for (int i = 0; text.size() < 5000; ++i) text += std::to_string(i) + " ";
  return text.substr(0, 5000);
}

class Fetch : public testing::Test {
 protected:
  Fetch() {
    put_file(scratch_ / "server/letters/text.pkl", text_);
    put_gzip(scratch_ / "server/letters/images.gz", "small");
  }

  // A set that is there if its file of text is, or another one that stands for it.
  DatasetEntry entry(std::vector<std::string> addresses = {}) const {
    const auto read = [](const fs::path& data_dir) {
      const fs::path other = data_dir / "letters/other";
      const Dataset data{.source = "here"};
      if (fs::exists(other)) return data;
      need_data_file(data_dir / "letters", "text.pkl", "the test", "letters");
      return data;
    };
    return {.name = "letters",
            .read = read,
            .publication = Publication{.folder = "letters",
                                       .files = {{"text.pkl", sha256(text_)}},
                                       .addresses = std::move(addresses)}};
  }

  Fetched fetch(const DatasetEntry& entry, const std::string& mirror) {
    return fetch_dataset(entry, {data(), mirror, /*timeout=*/1},
                         [&](const fs::path&, int64_t bytes, int64_t total) {
                           bytes_ = bytes, total_ = total;
                           return bytes < stop_at_;
                         });
  }
  Fetched fetch(const std::string& behaviour) { return fetch(entry(), server_.address(behaviour)); }

  // Returns the first byte of every request so far.
  std::string starts() {
    ContinuedFile log(scratch_ / "log");
    log.restart();
    download(server_.address("log"), log, 5, 1 << 20, [](int64_t, int64_t) { return true; });
    std::string starts;
    std::istringstream lines(read_file(log.part()));
    for (std::string path, start; lines >> path >> start;) {
      starts += (starts.empty() ? "" : " ") + start;
    }
    return starts;
  }
  void expect_whole() {
    EXPECT_EQ(read_file(file()), text_);
    EXPECT_FALSE(fs::exists(part()));
  }
  void expect_nothing() {
    EXPECT_FALSE(fs::exists(file()));
    EXPECT_FALSE(fs::exists(part()));
  }

  fs::path data() const { return scratch_ / "data"; }
  fs::path file() const { return data() / "letters/text.pkl"; }
  fs::path part() const { return data() / "letters/text.pkl.part"; }

  const Scratch scratch_;
  const std::string text_ = long_text();
  FaultyServer server_{scratch_ / "server"};
  int64_t stop_at_ = 1 << 30, bytes_ = 0, total_ = 0;
};

TEST_F(Fetch, DownloadsWhatIsMissingOnce) {
  const Fetched first = fetch("whole");
  EXPECT_EQ(first.downloaded, std::vector<fs::path>{file()});
  expect_whole();
  EXPECT_EQ(bytes_, 5000);
  EXPECT_EQ(total_, 5000);
  EXPECT_TRUE(fetch("whole").downloaded.empty());
  EXPECT_EQ(starts(), "0");
}

TEST_F(Fetch, AFileIsJudgedByItsContentHoweverItIsCompressed) {
  DatasetEntry set = entry();
  set.publication->files = {{"images.gz", sha256(std::string_view("small"))}};
  set.read = [](const fs::path& data_dir) -> Dataset {
    need_data_file(data_dir / "letters", "images", "the test", "letters");
    return {};
  };
  put_file(data() / "letters/images", "small");
  EXPECT_TRUE(fetch(set, server_.address("whole")).downloaded.empty());
  fs::remove(data() / "letters/images");
  EXPECT_EQ(fetch(set, server_.address("whole")).downloaded.size(), 1u);
  EXPECT_EQ(read_maybe_gzip(data() / "letters/images.gz", 100), "small");
}

TEST_F(Fetch, ChecksTheIdOfAGitRepository) {
  EXPECT_EQ(git_blob_id("hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");  // git hash-object
  DatasetEntry set = entry();
  set.publication->files[0].checksum = git_blob_id(text_);
  EXPECT_EQ(fetch(set, server_.address("whole")).downloaded.size(), 1u);
  set.publication->files[0].checksum = git_blob_id("other");
  EXPECT_ERROR(fetch(set, server_.address("whole")), "its Git id is " + git_blob_id(text_));
}

TEST_F(Fetch, ContinuesWhatAnInterruptedCallLeft) {
  put_file(part(), text_.substr(0, 1234));
  fetch("whole");
  expect_whole();
  EXPECT_EQ(starts(), "1234");
  EXPECT_EQ(total_, 5000);
}

TEST_F(Fetch, ContinuesAfterEveryCut) {
  fetch("cut");
  expect_whole();
  EXPECT_EQ(starts(), "0 1000 2000 3000 4000");
}

TEST_F(Fetch, KeepsWhatArrivedBeforeItGaveUp) {
  const std::string whole = text_ + text_ + text_;
  put_file(scratch_ / "server/letters/text.pkl", whole);
  DatasetEntry set = entry();
  set.publication->files[0].checksum = sha256(whole);
  const std::string sentence = error_of([&] { fetch(set, server_.address("cut")); });
  EXPECT_NE(sentence.find("the part that arrived is kept"), std::string::npos) << sentence;
  EXPECT_EQ(fs::file_size(part()), 10000u);
  fetch(set, server_.address("cut"));
  EXPECT_EQ(read_file(file()), whole);
}

TEST_F(Fetch, StartsAnewWhereAServerKnowsNoRanges) {
  put_file(part(), text_.substr(0, 1234));
  fetch("deaf");
  expect_whole();
  EXPECT_EQ(starts(), "1234 0");
  fs::remove(file());
  EXPECT_ERROR(fetch("deaf-cut"), "cannot be downloaded");  // and it ends
}

TEST_F(Fetch, StartsAnewAfterThePartOfAnotherFile) {
  for (const size_t size : {1000, 5000, 6000}) {
    fs::remove(file());
    put_file(part(), std::string(size, 'x'));
    fetch("whole");
    expect_whole();
  }
}

TEST_F(Fetch, AFinishedPartOnlyGetsItsName) {
  put_file(part(), text_);
  fetch("whole");
  expect_whole();
}

TEST_F(Fetch, WaitsForASlowServer) {
  fetch("slow");
  expect_whole();
}

TEST_F(Fetch, GivesUpAServerThatSendsNothingMore) {
  EXPECT_ERROR(fetch("stuck"), "/stuck/letters/text.pkl: Operation too slow");
  EXPECT_EQ(fs::file_size(part()), 1000u);
  fetch("whole");
  expect_whole();
}

TEST_F(Fetch, RefusesAnotherFileAndLeavesNothing) {
  std::string wrong = text_;
  for (char& letter : wrong) letter = static_cast<char>(255 - static_cast<unsigned char>(letter));
  EXPECT_ERROR(fetch("wrong"), "it sends another file: its SHA-256 is " + sha256(wrong) + ", and " +
                                   sha256(text_) + " as published");
  expect_nothing();
  EXPECT_ERROR(fetch("page"), "it sends another file");
  expect_nothing();
  EXPECT_ERROR(fetch("short"), "it sends another file");
  expect_nothing();
}

TEST_F(Fetch, AWholeFileCountsThoughMoreWasAnnounced) {
  fetch("long");
  expect_whole();
}

TEST_F(Fetch, TriesTheAddressesInTurn) {
  const std::string absent = server_.address("absent"), wrong = server_.address("wrong");
  EXPECT_ERROR(fetch("absent"),
               absent + "/letters/text.pkl: The requested URL returned error: 404");
  expect_nothing();
  fetch(entry({wrong + "/letters/", server_.address("whole") + "/letters/"}), absent);
  expect_whole();
  fs::remove(file());
  fetch(entry({server_.address("whole") + "/letters/"}), "http://127.0.0.1:1");  // nobody is there
  expect_whole();
}

TEST_F(Fetch, FollowsRedirectionsButNotForEver) {
  fetch("moved");
  expect_whole();
  fs::remove(file());
  EXPECT_ERROR(fetch("circle"), "redirects");
}

TEST_F(Fetch, StopsWhenAskedAndContinues) {
  stop_at_ = 1500;
  EXPECT_TRUE(fetch("slow").stopped);
  EXPECT_FALSE(fs::exists(file()));
  const auto kept = fs::file_size(part());
  EXPECT_GE(kept, 1500u);
  EXPECT_LT(kept, 5000u);
  stop_at_ = 1 << 30;
  fetch("whole");
  expect_whole();
  EXPECT_EQ(starts(), "0 " + std::to_string(kept));
}

TEST_F(Fetch, LeavesAFileThatIsNotThePublishedOne) {
  put_file(file(), "mine");
  EXPECT_ERROR(fetch("whole"), file().string() + " is not the published file of letters");
  EXPECT_EQ(read_file(file()), "mine");
}

TEST_F(Fetch, NeedsNothingIfTheSetCanBeRead) {
  put_file(data() / "letters/other", "");
  EXPECT_TRUE(fetch("absent").downloaded.empty());
  EXPECT_EQ(starts(), "");
}

TEST_F(Fetch, TwoProcessesDoNotWriteOneFile) {
  fs::create_directories(file().parent_path());
  const ContinuedFile other(file());
  EXPECT_ERROR(fetch("whole"), "another process is writing it");
}

TEST_F(Fetch, SaysThatCurlIsMissing) {
  const std::string path = getenv("PATH");
  setenv("PATH", scratch_.folder().c_str(), 1);
  EXPECT_ERROR(fetch("whole"), "need the program curl, which Debian's package curl contains");
  setenv("PATH", path.c_str(), 1);
}

TEST(Publications, AreComplete) {
  for (const DatasetEntry& entry : dataset_registry()) {
    EXPECT_FALSE(entry.sizes.empty() || entry.values.empty() || entry.source.empty()) << entry.name;
    if (!entry.publication) continue;
    EXPECT_FALSE(entry.built_in || entry.publication->terms.empty()) << entry.name;
    EXPECT_GE(entry.publication->addresses.size(), 2u) << entry.name;
    for (const std::string& address : entry.publication->addresses) {
      EXPECT_TRUE(address.starts_with("http") && address.ends_with("/")) << address;
    }
    for (const PublishedFile& file : entry.publication->files) {
      EXPECT_TRUE(file.checksum.size() == 64 || file.checksum.size() == 40) << file.name;
    }
  }
}

TEST(Publications, AMirrorIsTriedFirstAndTheArchiveLast) {
  const Publication one = {.folder = "f", .addresses = {"http://a/", "http://b/"}};
  const std::vector<std::string> expected = {"http://m/f/x", "http://a/x", "http://b/x",
                                             "https://web.archive.org/web/2023id_/http://a/x"};
  EXPECT_EQ(addresses_of(one, "x", "http://m"), expected);
  EXPECT_EQ(addresses_of(one, "x", "http://m/"), expected);
}

TEST(MissingFiles, NameTheCommandThatDownloadsThem) {
  const Scratch scratch;
  for (const DatasetEntry& entry : dataset_registry()) {
    if (!entry.publication || fs::exists("/usr/share/datasets/" + entry.name)) continue;
    const std::string sentence = error_of([&] { entry.read(scratch.folder()); });
    EXPECT_NE(sentence.find("isinglass data fetch " + entry.name + " --data-dir " +
                            scratch.folder().string() + " downloads it"),
              std::string::npos)
        << sentence;
    EXPECT_EQ(examine_dataset(entry, scratch.folder()).state, DatasetState::kMissing);
  }
}

}  // namespace
}  // namespace isinglass::fetch_test
