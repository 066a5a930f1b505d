// The corpus and some thousand mutations of it: nothing but Error is thrown. A mutated file fails
// its checksums, so the pickle is mutated too, both bare and packed again under fresh checksums.
#include <caffe2/serialize/inline_container.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "io/error.h"
#include "io/files.h"
#include "io/pt/pt_file.h"
#include "tests/support/fuzzing.h"
#include "tests/support/source_tree.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace isinglass::pt_fuzz_test {
namespace {

using Records = std::vector<std::pair<std::string, std::string>>;

void fuzz(const std::string& bytes) {
  EXPECT_NO_THROW(
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
}

std::vector<std::string> corpus(const std::string& prefix) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(source_tree() / "tests/io/corpus"))
    if (entry.path().filename().string().starts_with(prefix)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());  // so that the mutations are the same everywhere
  std::vector<std::string> files;
  for (const auto& path : paths) files.push_back(read_file(path));
  return files;
}

// The records of an archive, without those that the writer adds itself; data.pkl comes first.
Records unpack(const std::string& bytes) {
  std::istringstream stream(bytes);
  caffe2::serialize::PyTorchStreamReader reader(&stream);
  Records records;
  for (const std::string& name : reader.getAllRecords()) {
    if (name == "version" || name == ".data/serialization_id") continue;
    const auto [data, size] = reader.getRecord(name);
    records.emplace_back(name, std::string(static_cast<const char*>(data.get()), size));
  }
  std::stable_partition(records.begin(), records.end(),
                        [](const auto& record) { return record.first == "data.pkl"; });
  return records;
}

std::string pack(const Records& records) {
  std::string bytes;
  caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  for (const auto& [name, data] : records) writer.writeRecord(name, data.data(), data.size());
  writer.writeEndOfFile();
  return bytes;
}

std::string mutate(Fuzzing& fuzzing, const std::string& bytes, const std::string& other) {
  return mutated(fuzzing.random, bytes, other, ".01(NKMJGX)t]ae}suhjqrcRbQ\x80\x85\x86\x87\x8a");
}

TEST(PtFuzz, TheCorpusAndItsTruncations) {
  for (const std::string& file : corpus("")) {
    fuzz(file);
    for (size_t length = 0; length < file.size(); length += 13) fuzz(file.substr(0, length));
  }
}

TEST(PtFuzz, MutatedFiles) {
  const std::vector<std::string> files = corpus("");
  int round = 0;
  for (Fuzzing fuzzing(100); fuzzing.next(); ++round)
    for (size_t i = 0; i < files.size(); ++i)
      fuzz(mutate(fuzzing, files[i], files[(i + round) % files.size()]));
}

TEST(PtFuzz, MutatedPicklesUnderFreshChecksums) {
  std::vector<Records> archives;
  for (const std::string& file : corpus("good")) archives.push_back(unpack(file));
  int round = 0, accepted = 0, refused = 0;
  for (Fuzzing fuzzing(1000); fuzzing.next(); ++round) {
    for (size_t i = 0; i < archives.size(); ++i) {
      Records records = archives[i];
      ASSERT_EQ(records.front().first, "data.pkl");
      std::string& pickle = records.front().second;
      pickle = mutate(fuzzing, pickle, archives[(i + round) % archives.size()].front().second);
      fuzz(pickle);
      const std::string bytes = pack(records);
      fuzz(bytes);
      try {
        read_pt_bytes(bytes, "input");
        ++accepted;
      } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()).find("checksum"), std::string::npos);
        ++refused;
      }
    }
  }
  EXPECT_GT(accepted, 100);  // otherwise the mutations would not reach the machine's depths
  EXPECT_GT(refused, 100);
}

TEST(PtFuzz, MutatedStoragesAreReadAsTheyAre) {
  for (Fuzzing fuzzing(1); fuzzing.next();) {
    for (const std::string& file : corpus("good")) {
      const Records whole = unpack(file);
      for (size_t i = 1; i < whole.size(); ++i) {
        Records records = whole;
        records[i].second = mutate(fuzzing, records[i].second, file);
        fuzz(pack(records));
      }
    }
  }
}

}  // namespace
}  // namespace isinglass::pt_fuzz_test
