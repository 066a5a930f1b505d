// Run directories, and checkpoints on disk.
#include "train/run_directory.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "io/files.h"
#include "io/settings.h"
#include "tests/support/scratch.h"
#include "train/checkpoint.h"

namespace isinglass::run_directory_test {
namespace {

namespace fs = std::filesystem;

TEST(RunDirectoryTest, KeepsTheTwoLatestCheckpoints) {
  const Scratch scratch;
  const RunDirectory directory = RunDirectory::create(scratch / "run");
  for (int64_t t : {5, 100000000, 30}) write_file(directory.checkpoint_file(t), "x");
  write_file(scratch / "run/checkpoints/00000040.pt.part", "x");
  EXPECT_EQ(directory.checkpoint_file(5).filename(), "00000005.pt");
  ASSERT_EQ(directory.checkpoints().size(), 3u);
  EXPECT_EQ(directory.checkpoints().back().filename(), "100000000.pt");  // by number
  directory.remove_old_checkpoints(0);
  ASSERT_EQ(directory.checkpoints().size(), 2u);
  EXPECT_EQ(directory.checkpoints().front().filename(), "00000030.pt");
  directory.set_aside(directory.checkpoint_file(30));
  EXPECT_EQ(directory.checkpoints().size(), 1u);
  EXPECT_TRUE(fs::exists(scratch / "run/checkpoints/00000030.pt.unreadable"));
}

// Checkpoints that a diverging run may need are kept, wherever it was interrupted.
TEST(RunDirectoryTest, KeepsTwoCheckpointsToRecoverFrom) {
  const Scratch scratch;
  const RunDirectory directory = RunDirectory::create(scratch / "run");
  const auto iterations = [&] {
    std::vector<std::string> stems;
    for (const fs::path& file : directory.checkpoints()) stems.push_back(file.stem().string());
    return stems;
  };
  for (int64_t t = 0; t <= 720; t += 60) {
    write_file(directory.checkpoint_file(t), "x");
    directory.remove_old_checkpoints(240);
    if (t < 480) {
      EXPECT_EQ(iterations().front(), "00000000");
    }
  }
  write_file(directory.checkpoint_file(733), "x");
  directory.remove_old_checkpoints(240);
  EXPECT_EQ(iterations(), (std::vector<std::string>{"00000480", "00000720", "00000733"}));
  const auto point = [&](int64_t iteration, int64_t spacing) {
    return directory.recovery_point(iteration, spacing).stem().string();
  };
  EXPECT_EQ(point(740, 240), "00000720");
  EXPECT_EQ(point(719, 240), "00000480");
  EXPECT_EQ(point(740, 500), "00000733");  // no multiple: the latest
  EXPECT_EQ(point(100, 240), "00000480");  // none so early: the oldest
  directory.remove_checkpoints_after(720);
  EXPECT_EQ(iterations(), (std::vector<std::string>{"00000480", "00000720"}));
}

TEST(RunDirectoryTest, RefusesTheWrongDirectory) {
  const Scratch scratch;
  EXPECT_ERROR(RunDirectory::open(scratch / "none"), "no checkpoints");
  const RunDirectory directory = RunDirectory::create(scratch / "run");
  EXPECT_ERROR(RunDirectory::open(scratch / "run"), "no checkpoints");
  write_file(directory.checkpoint_file(5), "x");
  EXPECT_ERROR(RunDirectory::create(scratch / "run"), "holds a run already");
  write_file(scratch / "file", "x");
  EXPECT_ERROR(RunDirectory::create(scratch / "file"), "cannot make the directory");
}

Checkpoint small_checkpoint() {
  torch::manual_seed(0);
  Checkpoint c;
  c.settings = {{"seed", {int64_t{7}}}, {"learning_rate", {0.1}}, {"model", {std::string("rbm")}}};
  c.program = "1f2e3d";
  c.iteration = 12;
  c.plan = {{"schedule", {std::string("linear")}}, {"iterations", {int64_t{40}}}};
  c.planned_from = 3;
  c.recoveries = torch::tensor({7, 9}, torch::kInt64);
  c.divergence = {2, torch::randn({5}, torch::kFloat64), torch::rand({4}, torch::kFloat64), 6, 1,
                  3};
  c.skipped = 8;
  c.best_score = -std::numeric_limits<double>::infinity();
  const torch::Tensor weight =
      torch::randn({2, 3, 3, 3}).contiguous(torch::MemoryFormat::ChannelsLast);
  c.parameters = {{"net.0.weight", weight}, {"bias", torch::randn({2})}};
  c.averages = c.first_moments = c.second_moments = c.parameters;
  c.adam_step = torch::full({}, 12.0f);
  c.average_updates = torch::full({}, 4.0, torch::kFloat64);
  c.buffer = torch::randint(0, 2, {4, 9}, torch::kUInt8);
  return c;
}

TEST(CheckpointTest, SurvivesTheDisk) {
  const Scratch scratch;
  const Checkpoint c = small_checkpoint();
  write_checkpoint(scratch / "00000012.pt", c);
  const Checkpoint read = read_checkpoint(scratch / "00000012.pt");
  EXPECT_EQ(read.iteration, 12);
  EXPECT_EQ(settings_text(read.plan), settings_text(c.plan));
  EXPECT_EQ(read.planned_from, 3);
  EXPECT_TRUE(torch::equal(read.recoveries, c.recoveries));
  EXPECT_EQ(read.divergence.iterations_apart, 2);
  EXPECT_TRUE(torch::equal(read.divergence.differences, c.divergence.differences));
  EXPECT_TRUE(torch::equal(read.divergence.acceptances, c.divergence.acceptances));
  EXPECT_EQ(read.best_score, c.best_score);
  EXPECT_NO_THROW(require_same_settings(read.settings, c.settings, "it"));
  EXPECT_EQ(read.program, "1f2e3d");
  ASSERT_EQ(read.parameters.size(), 2u);
  EXPECT_EQ(read.parameters[0].first, "net.0.weight");
  EXPECT_TRUE(torch::equal(read.parameters[0].second, c.parameters[0].second));
  EXPECT_TRUE(torch::equal(read.buffer, c.buffer));
  EXPECT_EQ(read.adam_step.item<float>(), 12);
  EXPECT_EQ(read.average_updates.item<double>(), 4);
  EXPECT_EQ(read.divergence.skipped_in_a_row, 6);
  EXPECT_EQ(read.divergence.stay_in_a_row, 1);
  EXPECT_EQ(read.divergence.alike_in_a_row, 3);
  EXPECT_EQ(read.skipped, 8);
}

// The averages of such checkpoints have had one update per iteration.
TEST(CheckpointTest, OneFromBeforeUpdatesWereSkipped) {
  const Scratch scratch;
  write_checkpoint(scratch / "new.pt", small_checkpoint());
  PtDict entries = std::get<PtDict>(read_pt(scratch / "new.pt").value);
  const std::set<std::string> later = {"skipped_in_a_row", "stay_in_a_row", "alike_in_a_row",
                                       "skipped", "average_updates"};
  EXPECT_EQ(std::erase_if(entries, [&](const auto& e) { return later.contains(e.first); }), 5u);
  entries.emplace_back("total_steps", PtValue{int64_t{480}});  // older checkpoints had this entry
  write_pt(scratch / "old.pt", PtValue{entries});
  const Checkpoint read = read_checkpoint(scratch / "old.pt");
  EXPECT_EQ(read.average_updates.item<double>(), 12);
  EXPECT_EQ(read.divergence.skipped_in_a_row, 0);
  EXPECT_EQ(read.skipped, 0);
}

TEST(CheckpointTest, OneFromBeforeAcceptancesWereKept) {
  const Scratch scratch;
  write_checkpoint(scratch / "new.pt", small_checkpoint());
  PtDict entries = std::get<PtDict>(read_pt(scratch / "new.pt").value);
  EXPECT_EQ(std::erase_if(entries, [](const auto& e) { return e.first == "acceptances"; }), 1u);
  write_pt(scratch / "old.pt", PtValue{entries});
  EXPECT_EQ(read_checkpoint(scratch / "old.pt").divergence.acceptances.numel(), 0);
}

TEST(CheckpointTest, EveryTruncationIsAnError) {
  const Scratch scratch;
  write_checkpoint(scratch / "a.pt", small_checkpoint());
  const std::string bytes = read_file(scratch / "a.pt");
  for (size_t length = 0; length < bytes.size(); length += 97) {
    write_file(scratch / "b.pt", bytes.substr(0, length));
    EXPECT_ERROR(read_checkpoint(scratch / "b.pt"), "b.pt");
  }
}

TEST(CheckpointTest, OtherContentIsAnError) {
  const Scratch scratch;
  write_pt(scratch / "tensor.pt", PtValue{torch::zeros({2})});
  EXPECT_ERROR(read_checkpoint(scratch / "tensor.pt"), "not a checkpoint");
  write_named_tensors(scratch / "weights.pt", {{"w", torch::zeros({2})}});
  EXPECT_ERROR(read_checkpoint(scratch / "weights.pt"), "not a checkpoint");
  write_pt(scratch / "new.pt", PtValue{PtDict{{"format_version", {int64_t{99}}}}});
  EXPECT_ERROR(read_checkpoint(scratch / "new.pt"), "format 99");
}

TEST(CheckpointTest, CopiesIntoTheMemoryFormatOfTheTarget) {
  const Checkpoint c = small_checkpoint();
  const torch::Tensor source = c.parameters[0].second.contiguous();
  const torch::Tensor target =
      torch::zeros({2, 3, 3, 3}).contiguous(torch::MemoryFormat::ChannelsLast);
  const float* storage = target.data_ptr<float>();
  copy_tensors({{"w", source}}, {{"w", target}}, "it");
  EXPECT_TRUE(torch::equal(target, source));
  EXPECT_TRUE(target.is_contiguous(torch::MemoryFormat::ChannelsLast));
  EXPECT_EQ(target.data_ptr<float>(), storage);
  EXPECT_ERROR(copy_tensors({{"v", source}}, {{"w", target}}, "it"), "'v'");
  EXPECT_ERROR(copy_tensors({}, {{"w", target}}, "it"), "holds 0 tensors");
  EXPECT_ERROR(copy_tensors({{"w", source[0]}}, {{"w", target}}, "it"), "shape");
  EXPECT_ERROR(copy_tensors({{"w", source.to(torch::kFloat64)}}, {{"w", target}}, "it"), "type");
}

}  // namespace
}  // namespace isinglass::run_directory_test
