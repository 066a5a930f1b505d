// Specs as options: a written spec is read back, options come from the registry, and the files of
// earlier versions are still read.
#include "lab/spec/spec.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "engine/options.h"
#include "engine/registry.h"
#include "engine/sampler.h"
#include "lab/embedded.h"
#include "lab/run/training.h"
#include "lab/spec/configuration.h"
#include "lab/spec/field.h"
#include "tests/support/scratch.h"

namespace isinglass::spec_test {
namespace {

// A value that is in the range of the option and not its default.
OptionValue other_value(const Option& option) {
  if (!option.choices.empty()) return option.choices.back();
  switch (option.type) {
    case ValueType::kSwitch:
      return !(option.initial && std::get<bool>(*option.initial));
    case ValueType::kInteger:
      return static_cast<int64_t>(std::max(option.minimum, 0.0)) + 3;
    case ValueType::kReal:
      return std::isfinite(option.maximum) ? (std::max(option.minimum, 0.0) + option.maximum) / 2
                                           : 3.5;
    case ValueType::kPath:
      return "/files/" + option.name;
    default:
      break;
  }
  if (option.unit == "HxW") return "3x5";
  if (option.unit == "T0,T1") return "2,0.25";
  if (option.unit == "LOW,HIGH") return "-1,2";
  if (option.unit.starts_with("NAME=FILE")) return "ising=/files/ising.pt";
  return option.name + "-name";
}

// `objective`: the objective of training; the options that do not apply to it are left out.
template <class Spec>
void expect_every_field_kept(const std::string& who, const std::string& objective = "") {
  const Scratch scratch;
  OptionTable table = options_of<Spec>();
  if (!objective.empty()) {
    std::erase_if(table, [&](const Option& option) { return !applies(option, objective); });
  }
  OptionValues said;
  for (const Option& option : table) {
    const OptionValue value =
        option.name == "objective" ? OptionValue(objective) : other_value(option);
    EXPECT_NO_THROW(check_value(option, value)) << who << " " << option.name;
    said.emplace(option.name, value);
  }
  EXPECT_EQ(said.size(), table.size()) << who << ": a name stands twice";
  const OptionValues kept = values_of(spec_of<Spec>(said));
  EXPECT_EQ(kept, said) << who;
  std::ofstream(scratch / "config.toml") << configuration_text(table, who, kept);
  EXPECT_EQ(read_configuration(table, who, scratch / "config.toml"), said) << who;
}

TEST(Specs, KeepWhatIsSaidOfEveryField) {
  expect_every_field_kept<SampleSpec>("sample");
  const OptionTable training = options_of<TrainSpec>();
  for (const std::string& objective : find_option(training, "objective")->choices) {
    expect_every_field_kept<TrainSpec>("train", objective);
  }
  expect_every_field_kept<EvaluateSpec>("evaluate");
  expect_every_field_kept<BenchSpec>("bench");
  expect_every_field_kept<EnergySpec>("energy");
  expect_every_field_kept<GridSpec>("ablate");
}

// TOML would read such bytes back as other characters.
TEST(Specs, BytesThatAreNoTextAreRefused) {
  const OptionTable table = options_of<SampleSpec>();
  for (const std::string name : {"a\xff/two.pt", "\xc3", "\xed\xa0\x80"}) {
    EXPECT_ERROR(configuration_text(table, "sample", {{"weights", name}}),
                 "whose bytes are not UTF-8");
  }
  const Scratch scratch;
  const std::string weights = (std::filesystem::path("/") / "\xc3\xa4 \xe2\x82\xac.pt").string();
  std::ofstream(scratch / "config.toml")
      << configuration_text(table, "sample", {{"weights", weights}});
  EXPECT_EQ(read_configuration(table, "sample", scratch / "config.toml").at("weights"),
            OptionValue(weights));
}

TEST(Specs, HaveTheOptionsOfTheRegistrysSamplers) {
  std::set<std::string> texts;
  for (const SamplerOption& option : sampler_options()) texts.insert(option.name);
  const OptionTable table = options_of<SampleSpec>();
  for (const SamplerEntry& entry : sampler_registry()) {
    for (const SamplerOptionUse& use : entry.options) {
      EXPECT_TRUE(texts.contains(use.name)) << entry.name << " reads " << use.name;
      const Option* option = find_option(table, use.name);
      ASSERT_NE(option, nullptr) << use.name;
      if (option->type != ValueType::kReal) continue;
      EXPECT_LE(option->minimum, use.least) << entry.name << " " << use.name;
      EXPECT_GE(option->maximum, use.most) << entry.name << " " << use.name;
      if (use.above_least) continue;
      EXPECT_NO_THROW(check_value(*option, use.least)) << use.name;
    }
  }
  for (const std::string& name : texts) {
    EXPECT_TRUE(std::any_of(sampler_registry().begin(), sampler_registry().end(),
                            [&](const SamplerEntry& entry) { return entry.option(name); }))
        << "no sampler reads " << name;
  }
}

// These are settings that earlier versions wrote into run directories; such runs can be resumed.
TEST(Specs, ReadTheFilesOfEarlierVersions) {
  const Scratch scratch;
  const auto read = [&](const std::string& text) {
    std::ofstream(scratch / "config.toml") << text;
    OptionTable table = options_of<TrainSpec>();
    table.push_back({.name = "device"});
    table.push_back({.name = "threads", .type = ValueType::kInteger});
    return spec_of<TrainSpec>(read_configuration(table, "train", scratch / "config.toml"));
  };
  const TrainSpec chains = read(R"(# isinglass train
model = 'resnet'
image = '28x28'
dataset = 'strokes'
data-dir = '/files/data'
sampler = 'pafs'
radius = 3.0
adapt = false
target-acceptance = 0.574
balancing = 'sqrt'
gradient-precision = 'float32'
cuda-graph = false
channels = 4
hidden = 500
base = true
objective = 'pcd'
steps-per-iter = 2
buffer = 40
batch = 10
iters = 4
lr = 0.0001
warmup = 10000
ema = 0.999
l2 = 0.0
p-control = 0.0
reinit = 0.0
checkpoint-every = 2
evaluate-every = 0
evaluate-steps = 10000
device = 'auto'
threads = 1
seed = 0
)");
  EXPECT_EQ(chains.sampler.name, "pafs");
  EXPECT_EQ(chains.sampler.options.at("radius"), OptionValue(3.0));
  EXPECT_EQ(chains.pcd.buffer, 40);
  EXPECT_EQ(chains.shape.channels, 4);
  const OptionValues said = values_of(chains);
  EXPECT_EQ(said.at("centre"), OptionValue(false));  // older files lack these
  EXPECT_EQ(said.at("rungs"), OptionValue(int64_t{0}));
  EXPECT_EQ(said.at("fresh"), OptionValue(int64_t{0}));
  EXPECT_EQ(said.at("fresh-iters"), OptionValue(int64_t{200}));
  EXPECT_EQ(values_of(resolved_objective(chains)), said);  // it is resolved already

  const TrainSpec scores = read(R"(# isinglass train
model = 'mlp'
image = '28x28'
dataset = 'strokes'
data-dir = '/files/data'
gradient-precision = 'float32'
channels = 64
hidden = 500
objective = 'dsm'
noise = 0.1
batch = 10
iters = 4
lr = 0.0001
warmup = 10000
ema = 0.999
checkpoint-every = 2
device = 'auto'
threads = 1
seed = 0
)");
  EXPECT_EQ(scores.dsm.noise, 0.1);
  EXPECT_EQ(values_of(resolved_objective(scores)), values_of(scores));
}

TEST(Specs, PresetsOfTrainingAreRuns) {
  const OptionTable table = options_of<TrainSpec>();
  for (const EmbeddedFile& preset : training_presets()) {
    SCOPED_TRACE(preset.name);
    OptionValues values = read_configuration_text(table, "train", preset.text, preset.name);
    for (const auto& [name, value] : values) check_value(*find_option(table, name), value);
    values.emplace("dataset", "strokes");
    const TrainSpec spec = resolved_objective(spec_of<TrainSpec>(values));
    const OptionValues all = values_of(spec);
    for (const auto& [name, value] : values) EXPECT_EQ(all.at(name), value) << name;
    EXPECT_LE(*spec.warmup, spec.train.iterations / 5);
  }
}

TEST(Specs, WarmUpIsATenthOfTheRunUnlessItIsGiven) {
  const auto warmup = [](OptionValues values) {
    values.emplace("dataset", "strokes");
    return *resolved_objective(spec_of<TrainSpec>(values)).warmup;
  };
  EXPECT_EQ(warmup({{"iters", int64_t{1000}}}), 100);
  EXPECT_EQ(warmup({{"iters", int64_t{5}}}), 0);
  EXPECT_EQ(warmup({{"iters", int64_t{1000000}}}), 10000);
  EXPECT_EQ(warmup({{"iters", int64_t{1000}}, {"warmup", int64_t{700}}}), 700);
}

TEST(Specs, OfTrainingRefuseWhatGoesWithOtherObjectives) {
  const TrainSpec scores{.data = {.name = "strokes"}, .objective = "dsm"};
  EXPECT_EQ(resolved_objective(scores).model.name, "mlp");
  const auto refused = [](OptionValues values, const std::string& option,
                          const std::string& objective) {
    values.emplace("dataset", "strokes");
    values.emplace("objective", objective);
    try {
      resolved_objective(spec_of<TrainSpec>(values));
      ADD_FAILURE() << option << " goes with " << objective;
    } catch (const OptionError& error) {
      EXPECT_EQ(error.option, option);
      EXPECT_EQ(error.what(), option + " cannot be combined with objective " + objective);
    }
  };
  // The given value may be the default.
  for (const char* objective : {"dsm", "classify", "cd"}) {
    refused({{"buffer", PcdOptions().buffer}}, "buffer", objective);
    refused({{"fresh-iters", int64_t{7}}}, "fresh-iters", objective);
  }
  for (const char* objective : {"dsm", "classify"}) {
    refused({{"sampler", "pafs"}}, "sampler", objective);
    refused({{"radius", 3.0}}, "radius", objective);
    refused({{"base", true}}, "base", objective);
    refused({{"evaluate-every", int64_t{0}}}, "evaluate-every", objective);
  }
  for (const char* objective : {"pcd", "cd", "classify"}) {
    refused({{"noise", 0.1}}, "noise", objective);
  }
  const TrainSpec contrastive =
      resolved_objective({.data = {.name = "strokes"}, .objective = "cd"});
  EXPECT_EQ(contrastive.model.name, "rbm");
  EXPECT_EQ(contrastive.sampler.name, "gibbs");
  EXPECT_EQ(contrastive.sampler.options.at("scan"), OptionValue("chromatic"));
  EXPECT_FALSE(values_of(contrastive).contains("buffer"));
}

TEST(Specs, UnknownKeysAndWrongTypesAreNamed) {
  const Scratch scratch;
  const auto message = [&](const std::string& text) {
    std::ofstream(scratch / "config.toml") << text;
    try {
      read_configuration(options_of<SampleSpec>(), "sample", scratch / "config.toml");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message("stepz = 3\n")
                .find("unknown key 'stepz'; did you mean steps? isinglass "
                      "sample --help lists the options"),
            std::string::npos);
  EXPECT_NE(message("steps = \"many\"\n").find("steps must be a whole number"), std::string::npos);
}

}  // namespace
}  // namespace isinglass::spec_test
