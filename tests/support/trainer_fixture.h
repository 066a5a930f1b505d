// Small training runs in one process, each with new objects, and the files that they leave.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/registry.h"
#include "io/files.h"
#include "models/registry.h"
#include "tests/support/training_fixture.h"
#include "train/objectives/pcd_objective.h"
#include "train/trainer.h"

namespace isinglass {

namespace fs = std::filesystem;

struct PcdRun : TrainOptions {
  PcdOptions pcd;
};

inline PcdRun small_options() {
  PcdRun options;
  options.pcd = {.batch = 4, .buffer = 24, .steps = 3, .reinit = 0.1, .seed = 9};
  options.iterations = 20;
  options.learning_rate = 1e-2;
  options.warmup = 10;
  options.ema = 0.9;
  options.checkpoint_every = 6;
  return options;
}

// Returns true for "categorical_resnet", a model of categorical images, and false for "resnet",
// "rbm", ….
inline bool is_categorical(const std::string& name) {
  return name.starts_with("categorical_");
}
inline std::shared_ptr<EnergyModel> fresh_model(const std::string& name, const Dataset& data) {
  const std::string model = is_categorical(name) ? name.substr(name.find('_') + 1) : name;
  return new_model(model,
                   {.image_height = 8,
                    .image_width = 8,
                    .channels = 4,
                    .hidden = 6,
                    .categories = is_categorical(name) ? data.categories : 0,
                    .proj = 3,
                    .base_mean = model == "resnet" ? clamped_mean(data) : torch::Tensor()},
                   4);
}

// A model, its sampler and data, constructed as in a new process.
struct Setting {
  Setting(const std::string& name, const PcdRun& options, const TrainHooks& hooks = {})
      : data(is_categorical(name) ? categorical_images(10, 8, 8, 5) : grey_images(10, 8)),
        model(fresh_model(name, data)),
        sampler(make_sampler("pafs", {.radius = 2}, *model)),
        trainer(model, objective(*sampler, data, options, *hooks.ranks), options, hooks) {}

  // Makes an objective for the model's states with any sampler and data.
  std::unique_ptr<Objective> objective(const Sampler& by, const Dataset& on, const PcdRun& options,
                                       const Ranks& ranks = Ranks::single_process()) const {
    return std::make_unique<PcdObjective>(*model, by, on, options.pcd, options.iterations,
                                          torch::kCPU, ranks);
  }

  Dataset data;
  std::shared_ptr<EnergyModel> model;
  std::unique_ptr<Sampler> sampler;
  Trainer trainer;
};

inline void train(const std::string& model, const fs::path& directory, const PcdRun& options) {
  Setting setting(model, options);
  setting.trainer.start(directory);
  EXPECT_FALSE(setting.trainer.run().interrupted);
}

inline void resume(const std::string& model, const fs::path& directory, const PcdRun& options) {
  Setting setting(model, options);
  setting.trainer.resume(directory);
  EXPECT_FALSE(setting.trainer.run().interrupted);
}

inline void expect_equal(const NamedTensors& a, const NamedTensors& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].first, b[i].first);
    EXPECT_TRUE(torch::equal(a[i].second, b[i].second)) << what << " " << a[i].first;
  }
}

inline void expect_same_state(const fs::path& a, const fs::path& b) {
  const Checkpoint x = read_checkpoint(a), y = read_checkpoint(b);
  EXPECT_EQ(x.iteration, y.iteration);
  EXPECT_EQ(x.skipped, y.skipped);
  expect_equal(x.parameters, y.parameters, "parameter");
  expect_equal(x.averages, y.averages, "average");
  expect_equal(x.first_moments, y.first_moments, "first moment");
  expect_equal(x.second_moments, y.second_moments, "second moment");
  EXPECT_TRUE(torch::equal(x.adam_step, y.adam_step));
  EXPECT_TRUE(torch::equal(x.average_updates, y.average_updates));
  EXPECT_TRUE(torch::equal(x.recoveries, y.recoveries)) << "recoveries";
  EXPECT_EQ(x.divergence.iterations_apart, y.divergence.iterations_apart);
  EXPECT_EQ(x.divergence.skipped_in_a_row, y.divergence.skipped_in_a_row);
  EXPECT_TRUE(torch::equal(x.divergence.differences, y.divergence.differences)) << "differences";
  EXPECT_TRUE(torch::equal(x.divergence.acceptances, y.divergence.acceptances)) << "acceptances";
  EXPECT_TRUE(torch::equal(x.divergence.losses, y.divergence.losses)) << "losses";
  EXPECT_TRUE(torch::equal(x.buffer, y.buffer)) << "buffer";
  expect_equal(x.carried, y.carried, "carried");
}

// Returns the lines of metrics.jsonl without the values that depend on the clock.
inline std::vector<nlohmann::json> metrics_of(const fs::path& directory) {
  std::istringstream text(read_file(directory / "metrics.jsonl"));
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(text, line);) {
    lines.push_back(nlohmann::json::parse(line));
    lines.back().erase("seconds");
    lines.back().erase("iterations_per_second");
  }
  return lines;
}

}  // namespace isinglass
