// Whole training runs in one process: resuming, stopping, disks that fail.
#include <gtest/gtest.h>

#include "engine/registry.h"
#include "tests/support/full_disk.h"
#include "tests/support/scratch.h"
#include "tests/support/trainer_fixture.h"

namespace isinglass::trainer_test {
namespace {

class ResumeTest : public testing::TestWithParam<const char*> {};

TEST_P(ResumeTest, EqualsAnUnbrokenRunBitForBit) {
  const Scratch scratch;
  const PcdRun options = small_options();
  train(GetParam(), scratch / "whole", options);
  for (int64_t first : {1, 7, 12}) {
    for (int64_t every : {2, 100}) {
      const fs::path directory = scratch / fmt::format("{}-{}", first, every);
      PcdRun part = options;
      part.iterations = first;
      part.checkpoint_every = every;
      train(GetParam(), directory, part);
      part.iterations = options.iterations;
      resume(GetParam(), directory, part);
      expect_same_state(scratch / "whole/checkpoints/00000020.pt",
                        directory / "checkpoints/00000020.pt");
      EXPECT_EQ(read_file(scratch / "whole/weights.pt"), read_file(directory / "weights.pt"));
      EXPECT_EQ(read_file(scratch / "whole/ema.pt"), read_file(directory / "ema.pt"));
      EXPECT_EQ(metrics_of(scratch / "whole"), metrics_of(directory));
    }
  }
}

// Returns what the last checkpoint of a run in two parts carries, after a comparison with an
// unbroken run; the last entry is the visited slots.
NamedTensors carried_across(const std::string& model, const Scratch& scratch,
                            const PcdRun& options) {
  train(model, scratch / "whole", options);
  PcdRun part = options;
  part.iterations = 7;
  train(model, scratch / "part", part);
  resume(model, scratch / "part", options);
  const fs::path last = "checkpoints/00000020.pt";
  expect_same_state(scratch / "whole" / last, scratch / "part" / last);
  EXPECT_EQ(metrics_of(scratch / "whole"), metrics_of(scratch / "part"));
  return read_checkpoint(scratch / "part" / last).carried;
}

TEST(TrainerTest, ACentredRunGoesOnBitForBit) {
  const Scratch scratch;
  PcdRun options = small_options();
  options.pcd.centre = true;
  options.weight_decay = 0.1;
  EXPECT_EQ(carried_across("rbm", scratch, options).size(), 2 + 1);
}

// Tempered chains are part of the checkpoint. They may be added or dropped when a run is resumed.
TEST(TrainerTest, ATemperedRunGoesOnBitForBit) {
  const Scratch scratch;
  PcdRun options = small_options();
  options.pcd.rungs = 3;
  const NamedTensors carried = carried_across("resnet", scratch, options);
  ASSERT_EQ(carried.size(), 1 + 1);
  EXPECT_EQ(carried[0].second.size(0), 3);

  PcdRun part = options;
  part.iterations = 7;
  part.pcd.rungs = 0;
  train("resnet", scratch / "later", part);
  resume("resnet", scratch / "later", options);
  EXPECT_EQ(read_checkpoint(scratch / "later/checkpoints/00000020.pt").carried.size(), 1 + 1);
  options.iterations = 22;
  options.pcd.rungs = 4;
  resume("resnet", scratch / "later", options);
  EXPECT_EQ(read_checkpoint(scratch / "later/checkpoints/00000022.pt").carried[0].second.size(0),
            4);
  options.iterations = 24;
  options.pcd.rungs = 0;
  resume("resnet", scratch / "later", options);
  EXPECT_EQ(read_checkpoint(scratch / "later/checkpoints/00000024.pt").carried.size(), 1);
}

// So are chains from noise, and which of them have finished their burn-in.
TEST(TrainerTest, ARunWithFreshChainsGoesOnBitForBit) {
  const Scratch scratch;
  PcdRun options = small_options();
  options.pcd.rungs = 2;
  options.pcd.fresh = 3;
  options.pcd.fresh_iterations = 5;
  ASSERT_EQ(carried_across("resnet", scratch, options).size(), 3 + 1);
  options.iterations = 22;
  options.pcd.fresh = 4;
  resume("resnet", scratch / "part", options);
  const NamedTensors carried = read_checkpoint(scratch / "part/checkpoints/00000022.pt").carried;
  EXPECT_EQ(carried[2].second.size(0), 4);
  options.iterations = 24;
  options.pcd.rungs = options.pcd.fresh = 0;
  resume("resnet", scratch / "part", options);
  EXPECT_EQ(read_checkpoint(scratch / "part/checkpoints/00000024.pt").carried.size(), 1);
}

INSTANTIATE_TEST_SUITE_P(Models, ResumeTest,
                         testing::Values("rbm", "mlp", "resnet", "ising", "categorical_resnet",
                                         "categorical_rbm"),
                         [](const auto& info) { return std::string(info.param); });

TEST(TrainerTest, MovesParametersAndLeavesTheDocumentedFiles) {
  const Scratch scratch;
  PcdRun options = small_options();
  options.pcd.l2 = 1e-3;
  options.pcd.p_control = 1e-3;
  train("resnet", scratch / "run", options);
  for (const char* name : {"metrics.jsonl", "log.txt", "data.png", "weights.pt", "ema.pt",
                           "samples/00000020.png", "samples/00000006.png",
                           "checkpoints/00000000.pt",  // to recover from
                           "checkpoints/00000018.pt", "checkpoints/00000020.pt"}) {
    EXPECT_TRUE(fs::is_regular_file(scratch / "run" / name)) << name;
  }
  const auto files = fs::directory_iterator(scratch / "run/checkpoints");
  EXPECT_EQ(std::distance(begin(files), end(files)), 3);
  const Checkpoint last = read_checkpoint(scratch / "run/checkpoints/00000020.pt");
  expect_equal(last.parameters, read_named_tensors(scratch / "run/weights.pt"), "weights.pt");
  const Setting untrained("resnet", options);
  const auto fresh = untrained.model->named_parameters();
  for (const auto& [name, tensor] : last.parameters) {
    if (const torch::Tensor* before = fresh.find(name)) {
      EXPECT_FALSE(torch::equal(*before, tensor)) << name;
    }
  }
  // The base distribution's mean is no parameter: the same in both files, not averaged.
  for (const char* name : {"weights.pt", "ema.pt"}) {
    const auto model = load_model(
        "resnet", {.weights = scratch / "run" / name, .image_height = 8, .image_width = 8});
    EXPECT_TRUE(torch::equal(*model->named_buffers().find("mean"), clamped_mean(untrained.data)));
  }
  const auto metrics = metrics_of(scratch / "run");
  ASSERT_EQ(metrics.size(), 20u);
  EXPECT_EQ(metrics[0]["iteration"], 1);
  EXPECT_DOUBLE_EQ(metrics[4]["learning_rate"], 5e-3);
  EXPECT_DOUBLE_EQ(metrics[19]["learning_rate"], 1e-2);
  EXPECT_DOUBLE_EQ(metrics[3]["difference"], metrics[3]["energy_data"].get<double>() -
                                                 metrics[3]["energy_model"].get<double>());
}

// Replaying the gradient, the optimiser's step and the averages of an iteration gives the same
// parameters.
class TrainerGpu : public testing::TestWithParam<int64_t> {};  // rungs

TEST_P(TrainerGpu, CapturedIterationsAreThoseOneByOne) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const auto trained = [](bool cuda_graph) {
    PcdRun options = small_options();
    options.clip = 1;
    options.weight_decay = 0.1;
    options.pcd.l2 = 1e-3;
    options.pcd.rungs = GetParam();
    options.pcd.cuda_graph = cuda_graph;
    const Dataset data = grey_images(10, 8);
    const auto model = fresh_model("resnet", data);
    model->set_gradient_precision(GradientPrecision::kBfloat16);
    model->to(torch::kCUDA);
    const auto sampler = make_sampler("pafs", {.radius = 2}, *model);
    auto objective = std::make_unique<PcdObjective>(*model, *sampler, data, options.pcd,
                                                    options.iterations, torch::kCUDA);
    EXPECT_EQ(objective->capturable(*model), cuda_graph);
    Trainer trainer(model, std::move(objective), options);
    std::vector<Metrics> metrics;
    for (int64_t t = 0; t < options.iterations; ++t) metrics.push_back(trainer.iterate());
    return std::pair(metrics, model);
  };
  const auto [captured, model] = trained(true);
  const auto [one_by_one, same] = trained(false);
  for (size_t t = 0; t < captured.size(); ++t) {
    for (const char* name : {"difference", "acceptance", "hops", "gradient_norm", "swaps"}) {
      EXPECT_EQ(captured[t].find(name), one_by_one[t].find(name)) << name << " of iteration " << t;
    }
  }
  const auto parameters = model->named_parameters(), others = same->named_parameters();
  for (const auto& p : parameters) EXPECT_TRUE(torch::equal(p.value(), others[p.key()])) << p.key();
}

INSTANTIATE_TEST_SUITE_P(Rungs, TrainerGpu, testing::Values(0, 3));

TEST(TrainerTest, StopsAfterTheIterationAndGoesOn) {
  const Scratch scratch;
  const PcdRun options = small_options();
  train("rbm", scratch / "whole", options);
  int64_t asked = 0;
  Setting setting("rbm", options, {.stop = [&] { return ++asked == 5; }});
  setting.trainer.start(scratch / "run");
  const TrainResult result = setting.trainer.run();
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.iteration, 5);
  EXPECT_TRUE(fs::exists(scratch / "run/checkpoints/00000005.pt"));
  resume("rbm", scratch / "run", options);
  expect_same_state(scratch / "whole/checkpoints/00000020.pt",
                    scratch / "run/checkpoints/00000020.pt");
}

struct Warnings : TrainObserver {
  std::vector<std::string> all;
  void on_warning(const std::string& message) override { all.push_back(message); }
};

TEST(TrainerTest, FallsBackPastATruncatedCheckpoint) {
  const Scratch scratch;
  PcdRun options = small_options();
  train("rbm", scratch / "whole", options);
  options.iterations = 13;
  train("rbm", scratch / "run", options);  // leaves 12 and 13
  const fs::path newest = scratch / "run/checkpoints/00000013.pt";
  write_file(newest, read_file(newest).substr(0, 1000));
  options.iterations = 20;
  Warnings warnings;
  Setting again("rbm", options, {.observer = &warnings});
  again.trainer.resume(scratch / "run");
  ASSERT_EQ(warnings.all.size(), 1u);
  EXPECT_EQ(warnings.all[0], newest.string() +
                                 " is damaged and was set aside as *.unreadable; training goes on "
                                 "from iteration 12, so that 1 iteration is lost and made again");
  EXPECT_FALSE(again.trainer.run().interrupted);
  expect_same_state(scratch / "whole/checkpoints/00000020.pt",
                    scratch / "run/checkpoints/00000020.pt");
  EXPECT_EQ(metrics_of(scratch / "whole"), metrics_of(scratch / "run"));
  const std::string log = read_file(scratch / "run/log.txt");
  EXPECT_NE(log.find("cannot be read"), std::string::npos) << log;
  EXPECT_NE(log.find("resumed at iteration 12"), std::string::npos) << log;

  for (const char* name : {"00000018.pt", "00000020.pt"}) {
    write_file(scratch / "run/checkpoints" / name, "nothing");
  }
  fs::copy_file(scratch / "whole/checkpoints/00000000.pt", scratch / "run/checkpoints/00000000.pt",
                fs::copy_options::overwrite_existing);
  Setting from_the_start("rbm", options, {.observer = &warnings});
  from_the_start.trainer.resume(scratch / "run");
  EXPECT_NE(warnings.all.back().find("00000020.pt and "), std::string::npos) << warnings.all.back();
  EXPECT_NE(warnings.all.back().find("00000018.pt are damaged and were set aside as *.unreadable; "
                                     "training goes on from iteration 0, so that 20 iterations are "
                                     "lost"),
            std::string::npos)
      << warnings.all.back();

  for (const char* name : {"00000000.pt", "00000018.pt", "00000020.pt"}) {
    write_file(scratch / "run/checkpoints" / name, "nothing");
  }
  Setting setting("rbm", options);
  EXPECT_ERROR(setting.trainer.resume(scratch / "run"), "no checkpoint");
}

// A checkpoint that the system cannot read may be sound: it stays, and the run waits for another
// attempt.
TEST(TrainerTest, ACheckpointThatTheSystemCannotReadStays) {
  const Scratch scratch;
  train("rbm", scratch / "run", small_options());
  const fs::path newest = scratch / "run/checkpoints/00000020.pt";
  const fs::path moved = scratch / "run/moved.pt";
  fs::rename(newest, moved);
  fs::create_symlink(newest, newest);  // a loop, also for root
  {
    Setting setting("rbm", small_options());
    EXPECT_ERROR(setting.trainer.resume(scratch / "run"), "cannot read");
  }
  EXPECT_TRUE(fs::is_symlink(newest));
  fs::remove(newest);
  fs::rename(moved, newest);
  resume("rbm", scratch / "run", small_options());
}

TEST(TrainerTest, RefusesToResumeAnotherRun) {
  const Scratch scratch;
  PcdRun options = small_options();
  train("rbm", scratch / "run", options);
  const std::string before = read_file(scratch / "run/checkpoints/00000020.pt");
  options.pcd.seed = 10;
  Setting other_seed("rbm", options);
  EXPECT_ERROR(other_seed.trainer.resume(scratch / "run"), "seed = 9; this one has 10");
  Setting other_model("mlp", small_options());
  EXPECT_ERROR(other_model.trainer.resume(scratch / "run"), "model = rbm; this one has mlp");
  Dataset data = grey_images(10, 8);
  data.train[3][5] = 255 - data.train[3][5];
  Setting setting("rbm", small_options());
  Trainer other_data(setting.model, setting.objective(*setting.sampler, data, small_options()),
                     small_options());
  EXPECT_ERROR(other_data.resume(scratch / "run"), "with other data: their SHA-256");
  const auto expect_other = [&](const Sampler& sampler, const PcdRun& changed, const char* words) {
    Trainer other(setting.model, setting.objective(sampler, setting.data, changed), changed);
    EXPECT_ERROR(other.resume(scratch / "run"), words);
  };
  expect_other(*make_sampler("gwg", {}, *setting.model), small_options(),
               "sampler = pafs; this one has gwg");
  expect_other(*make_sampler("pafs", {.radius = 3}, *setting.model), small_options(),
               "sampler_options = radius = 2, ");
  options = small_options();
  options.pcd.from_data = true;
  expect_other(*setting.sampler, options, "objective = pcd; this one has cd");
  EXPECT_EQ(read_file(scratch / "run/checkpoints/00000020.pt"), before);
}

// The reverse is refused, too: nothing that only the checkpoint says is ignored.
TEST(TrainerTest, RefusesContrastiveDivergenceAsPersistent) {
  const Scratch scratch;
  PcdRun options = small_options();
  options.pcd.from_data = true;
  train("rbm", scratch / "run", options);
  Setting persistent("rbm", small_options());
  EXPECT_ERROR(persistent.trainer.resume(scratch / "run"), "objective = cd; this one has pcd");
}

// The file is intact and stays in place, so that the program that wrote it can resume.
TEST(TrainerTest, ACheckpointOfAnotherFormatIsRefusedAndKept) {
  const Scratch scratch;
  train("rbm", scratch / "run", small_options());
  const fs::path file = scratch / "run/checkpoints/00000020.pt";
  PtDict old = std::get<PtDict>(read_pt(file).value);
  old.at(0).second = PtValue{int64_t{1}};
  write_pt(file, PtValue{old});
  const std::string before = read_file(file);
  Setting setting("rbm", small_options());
  EXPECT_ERROR(setting.trainer.resume(scratch / "run"), "format 1");
  EXPECT_EQ(read_file(file), before);
}

TEST(TrainerTest, RefusesImpossibleOptions) {
  const auto expect_refused = [](const char* words, auto change) {
    PcdRun options = small_options();
    change(options);
    EXPECT_ERROR(Setting("rbm", options), words);
  };
  expect_refused("batch is 0", [](PcdRun& o) { o.pcd.batch = 0; });
  expect_refused("buffer is 3", [](PcdRun& o) { o.pcd.buffer = 3; });
  expect_refused("steps per iteration is 0", [](PcdRun& o) { o.pcd.steps = 0; });
  expect_refused("iterations is 2000000000", [](PcdRun& o) { o.iterations = 2000000000; });
  expect_refused("reinit is 1.5", [](PcdRun& o) { o.pcd.reinit = 1.5; });
  expect_refused("learning rate is nan", [](PcdRun& o) { o.learning_rate = std::nan(""); });
  expect_refused("average is 1", [](PcdRun& o) { o.ema = 1; });
  expect_refused("last learning rate is 0.02", [](PcdRun& o) { o.end_rate = 0.02; });
  expect_refused("clip is -1", [](PcdRun& o) { o.clip = -1; });
  expect_refused("recover is -1", [](PcdRun& o) { o.recover = -1; });
  expect_refused("checkpoint-every is 0", [](PcdRun& o) { o.checkpoint_every = 0; });
  Setting setting("rbm", small_options());
  EXPECT_ERROR(setting.objective(*setting.sampler, bars_and_stripes(3), small_options()),
               "64 sites");
}

TEST(TrainerTest, AFullDiskLeavesTheEarlierCheckpoints) {
  const Scratch scratch;
  PcdRun options = small_options();
  train("rbm", scratch / "whole", options);
  options.iterations = 7;
  train("rbm", scratch / "run", options);
  options.iterations = 20;
  {
    Setting setting("rbm", options);
    setting.trainer.resume(scratch / "run");
    // There is room for lines and parameter files, but not for another checkpoint.
    const FullDisk full(fs::file_size(scratch / "run/checkpoints/00000007.pt") - 1);
    EXPECT_ERROR(setting.trainer.run(), "00000012.pt");
  }
  EXPECT_TRUE(fs::exists(scratch / "run/checkpoints/00000006.pt"));
  EXPECT_EQ(read_checkpoint(scratch / "run/checkpoints/00000007.pt").iteration, 7);
  EXPECT_FALSE(fs::exists(scratch / "run/checkpoints/00000012.pt"));
  resume("rbm", scratch / "run", options);
  expect_same_state(scratch / "whole/checkpoints/00000020.pt",
                    scratch / "run/checkpoints/00000020.pt");
}

}  // namespace
}  // namespace isinglass::trainer_test
