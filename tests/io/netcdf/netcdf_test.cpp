// samples.nc: the values that HDF5 itself and ArviZ read equal those of samples.pt and
// summary.json. If the file cannot be written, there is one line and no file.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <hdf5_hl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "io/netcdf/netcdf_file.h"
#include "io/pt/pt_file.h"
#include "tests/support/full_disk.h"
#include "tests/support/inputs.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"
#include "tests/support/source_tree.h"

namespace isinglass::netcdf_test {
namespace {

using Json = nlohmann::json;

// A whole dataset as float64, in the file's shape.
torch::Tensor read_array(const std::filesystem::path& file, const std::string& name) {
  const hid_t opened = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  int rank = 0;
  H5LTget_dataset_ndims(opened, name.c_str(), &rank);
  std::vector<hsize_t> sizes(rank);
  H5LTget_dataset_info(opened, name.c_str(), sizes.data(), nullptr, nullptr);
  torch::Tensor values =
      torch::empty(std::vector<int64_t>(sizes.begin(), sizes.end()), torch::kFloat64);
  EXPECT_GE(H5LTread_dataset_double(opened, name.c_str(), values.data_ptr<double>()), 0) << name;
  H5Fclose(opened);
  return values;
}

// The names of the dimensions, by the scales attached to them.
std::vector<std::string> dimensions_of(const std::filesystem::path& file, const std::string& name) {
  const hid_t opened = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(opened, name.c_str(), H5P_DEFAULT);
  int rank = 0;
  H5LTget_dataset_ndims(opened, name.c_str(), &rank);
  std::vector<std::string> names;
  const H5DS_iterate_t visit = [](hid_t, unsigned, hid_t scale, void* list) {
    char text[64] = {};
    H5DSget_scale_name(scale, text, sizeof(text));
    static_cast<std::vector<std::string>*>(list)->push_back(text);
    return herr_t{0};
  };
  for (int i = 0; i < rank; ++i) H5DSiterate_scales(dataset, i, nullptr, visit, &names);
  H5Dclose(dataset);
  H5Fclose(opened);
  return names;
}

TEST(NetcdfFile, HoldsWhatIsGiven) {
  const Scratch scratch;
  for (const torch::ScalarType type :
       {torch::kUInt8, torch::kInt64, torch::kFloat32, torch::kFloat64}) {
    const auto file = scratch / "x.nc";
    const torch::Tensor x =
        torch::randint(200, {4, 3, 5}).to(type) / (type == torch::kFloat32 ? 3 : 1);
    const torch::Tensor values = x.to(type), two = torch::rand({4, 3}, torch::kFloat64);
    write_netcdf(
        file,
        {{"a", {{"x", {"chain", "draw", "site"}, values}}}, {"b", {{"y", {"chain", "draw"}, two}}}},
        {{"text", "some words"}, {"number", int64_t{1} << 40}});
    EXPECT_TRUE(torch::equal(read_array(file, "a/x"), values.transpose(0, 1).to(torch::kFloat64)));
    EXPECT_TRUE(torch::equal(read_array(file, "b/y"), two.t()));
    EXPECT_TRUE(torch::equal(read_array(file, "a/site"), torch::arange(5, torch::kFloat64)));
    EXPECT_EQ(dimensions_of(file, "a/x"), (std::vector<std::string>{"chain", "draw", "site"}));
    EXPECT_EQ(dimensions_of(file, "b/y"), (std::vector<std::string>{"chain", "draw"}));
    EXPECT_EQ(scratch.files(), 1u);
  }
}

TEST(NetcdfFile, AFullDiskLeavesNoFile) {
  const Scratch scratch;
  const torch::Tensor x = torch::zeros({1000, 10, 10});
  const FullDisk full(50000);
  EXPECT_ERROR(write_netcdf(scratch / "x.nc", {{"a", {{"x", {"chain", "draw", "site"}, x}}}}, {}),
               "cannot write " + (scratch / "x.nc").string());
  EXPECT_EQ(scratch.files(), 0u);
}

class InferenceData : public testing::Test {
 protected:
  InferenceData() { write_ising(folder / "ising.pt"); }
  Outcome run(const std::string& flags) const {
    return run_program("sample --model ising --weights " + (folder / "ising.pt").string() +
                       " --chains 3 --burn-in 4 --seed 5 --quiet --netcdf --out " +
                       (folder / "out").string() + " " + flags);
  }
  std::filesystem::path file() const { return folder / "out/samples.nc"; }

  TemporaryDirectory folder;
};

TEST_F(InferenceData, IsSamplesPtAndTheSummary) {
  for (const std::string thin : {"1", "3"}) {
    const Outcome done = run("--sampler gwg --overwrite --steps 60 --thin " + thin);
    ASSERT_EQ(done.exit_code, 0) << done.err;
    const NamedTensors draws = read_named_tensors(folder / "out/samples.pt");
    const Json summary = Json::parse(file_bytes(folder / "out/summary.json"));
    EXPECT_TRUE(torch::equal(read_array(file(), "posterior/x"),
                             draws[0].second.transpose(0, 1).to(torch::kFloat64)));
    EXPECT_TRUE(torch::equal(read_array(file(), "sample_stats/energy"), draws[1].second.t()));
    for (const std::string name : {"acceptance", "hops"}) {
      const double mean = read_array(file(), "sample_stats/" + name).mean().item<double>();
      EXPECT_NEAR(mean, summary[name].get<double>(), 1e-12) << name;
    }
    const std::string first = file_bytes(file());
    ASSERT_EQ(run("--sampler gwg --overwrite --steps 60 --thin " + thin).exit_code, 0);
    EXPECT_TRUE(file_bytes(file()) == first);  // equal runs, equal files
  }
  // A step a draw: those that moved are those with hops.
  ASSERT_EQ(run("--sampler gwg --overwrite --steps 60").exit_code, 0);
  const torch::Tensor x = read_array(file(), "posterior/x");
  const torch::Tensor moved = (x.narrow(1, 1, 59) - x.narrow(1, 0, 59)).abs().sum(2);
  EXPECT_TRUE(torch::equal(read_array(file(), "sample_stats/hops").narrow(1, 1, 59), moved));
}

// The program is started by name, like an installed program.
TEST_F(InferenceData, IsWrittenByAProgramThatIsFoundInPath) {
  const std::filesystem::path program = std::getenv("ISINGLASS_BINARY");
  const std::string line = fmt::format(
      "PATH={0}:$PATH {1} sample --model ising --weights {2}/ising.pt --sampler gwg "
      "--steps 5 --chains 3 --quiet --netcdf --out {2}/out",
      program.parent_path().string(), program.filename().string(), folder.path().string());
  EXPECT_EQ(std::system(line.c_str()), 0);
  EXPECT_TRUE(std::filesystem::exists(file()));
}

// The draws made before SIGINT, with the statistics of their own steps.
TEST_F(InferenceData, AnInterruptedRunKeepsItsDraws) {
  constexpr int64_t kSteps = 100000000, kThin = 10000;
  Json summary = Json::object();
  for (useconds_t wait = 200000; summary.value("draws", 0) == 0; wait *= 2) {
    std::filesystem::remove_all(folder / "out");
    Program running(
        words(fmt::format("sample --model ising --weights {0}/ising.pt --sampler gwg --chains 3 "
                          "--steps {1} --thin {2} "
                          "--quiet --netcdf --out {0}/out",
                          folder.path().string(), kSteps, kThin)));
    ASSERT_TRUE(running.reaches([&] { return std::filesystem::exists(folder / "out"); }));
    usleep(wait);
    running.signal(SIGINT);
    const Outcome stopped = running.wait();
    ASSERT_EQ(stopped.exit_code, 130) << stopped.err;
    ASSERT_EQ(line_count(stopped.err), 1) << stopped.err;
    // Stopped before its first step, the run has nothing to keep.
    if (!std::filesystem::exists(folder / "out/summary.json")) continue;
    summary = Json::parse(file_bytes(folder / "out/summary.json"));
  }
  const auto draws = summary["draws"].get<int64_t>();
  EXPECT_LT(draws, kSteps / kThin);
  EXPECT_EQ(draws, summary["steps_done"].get<int64_t>() / kThin);
  const NamedTensors samples = read_named_tensors(folder / "out/samples.pt");
  EXPECT_EQ(samples[0].second.size(0), draws);
  EXPECT_TRUE(torch::equal(read_array(file(), "posterior/x"),
                           samples[0].second.transpose(0, 1).to(torch::kFloat64)));
  for (const std::string name : {"energy", "acceptance", "hops"}) {
    const torch::Tensor values = read_array(file(), "sample_stats/" + name);
    EXPECT_EQ(values.sizes(), (std::vector<int64_t>{3, draws})) << name;
    EXPECT_TRUE(name == "energy" || (values > 0).all().item<bool>()) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "out/draws.tmp"));
}

// A suite of its own, which is skipped where ArviZ is missing.
class Arviz : public InferenceData {};

TEST_F(Arviz, OpensIt) {
  const char* given = std::getenv("ISINGLASS_PYTHON");
  const std::string python = given ? given : (source_tree() / ".venv/bin/python").string();
  const std::string script = source_tree() / "tests/io/netcdf/arviz_check.py";
  ASSERT_EQ(run("--sampler pafs --radius 2 --steps 50").exit_code, 0);
  const int status = std::system((python + " " + script + " " + (folder / "out").string()).c_str());
  constexpr int kMissing = 77;
  if (WEXITSTATUS(status) == kMissing) GTEST_SKIP() << python << " has no arviz with h5netcdf";
  EXPECT_EQ(status, 0);
}

TEST_F(InferenceData, MistakesGetOneLineAndNoDirectory) {
  const auto refused = [&](const std::string& flags, const std::string& words) {
    const Outcome outcome = run(flags);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(line_count(outcome.err), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  };
  refused("--sampler gwg --steps 0", "--steps is 0");
  refused("--sampler gwg --steps 5 --no-samples", "exclude each other");
  // A program without the library that brings HDF5, as in the archive for other machines.
  const std::string whole = std::getenv("ISINGLASS_BINARY");
  std::filesystem::copy_file(whole, folder / "isinglass");
  setenv("ISINGLASS_BINARY", (folder / "isinglass").c_str(), 1);
  refused("--sampler gwg --steps 5", "a NetCDF file needs the file libisinglass_netcdf.so");
  setenv("ISINGLASS_BINARY", whole.c_str(), 1);
}

TEST_F(InferenceData, AFullDiskIsSaidInOneLineAndLeavesTheDraws) {
  const Outcome outcome = run_program(
      "sample --model ising --weights " + (folder / "ising.pt").string() +
          " --sampler gwg --chains 100 --steps 100 --quiet --netcdf --out " +
          (folder / "out").string(),
      {.largest_file = 190000});  // samples.pt of 170 kB fits, samples.nc has more statistics
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(line_count(outcome.err), 1) << outcome.err;
  EXPECT_NE(outcome.err.find("samples.nc"), std::string::npos) << outcome.err;
  // The draws are there already, and stay.
  EXPECT_TRUE(std::filesystem::exists(folder / "out/samples.pt"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out/samples.nc"));
}

}  // namespace
}  // namespace isinglass::netcdf_test
