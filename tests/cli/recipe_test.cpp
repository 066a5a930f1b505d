// isinglass recipe: stages run one after another, are continued, and are refused before anything
// runs.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/directory_fixture.h"

namespace isinglass::recipe_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class Recipe : public DirectoryFixture {
 protected:
  // A tiny RBM, log Z of it, and a network on it.
  static constexpr const char* kResidual = R"(
dataset = "strokes"
[[stage]]
name = "rbm"
command = "train"
model = "rbm"
hidden = 5
sampler = "gibbs"
scan = "chromatic"
iters = 20
steps-per-iter = 2
buffer = 20
batch = 10
evaluate-every = 0
[[stage]]
name = "log-z"
command = "evaluate"
weights = "{out}/rbm/ema.pt"
chains = 20
steps = 300
[[stage]]
name = "network"
command = "train"
model = "residual"
objective = "nce"
base-model = "rbm={out}/rbm/ema.pt"
base-evaluation = "{out}/log-z"
channels = 2
iters = 3
batch = 10
evaluate-every = 0
[[stage]]
name = "draws"
command = "sample"
model = "residual"
weights = "{out}/network/ema.pt"
sampler = "surrogate"
chains = 3
steps = 5
[[stage]]
name = "page"
command = "report"
directory = "{out}/log-z"
)";

  void write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name) << text;
  }
  Json json(const std::string& name) { return Json::parse(file_bytes(dir_ / name)); }
  std::string text(const std::string& name) { return file_bytes(dir_ / name); }

  void refused_recipe(const std::string& text, const std::string& sentence) {
    write("bad.toml", text);
    refused("recipe bad.toml --out bad", sentence);
    EXPECT_FALSE(fs::exists(dir_ / "bad"));
  }
};

TEST_F(Recipe, RunsItsStagesAndTakesLogZOfTheBaseFromItsEvaluation) {
  write("own.toml", kResidual);
  const Outcome outcome = run("recipe own.toml --out r --seed 3 --threads 1");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("isinglass evaluate "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("took"), std::string::npos) << outcome.out;
  EXPECT_TRUE(fs::exists(dir_ / "r/log-z/report.html"));
  const Json recipe = json("r/recipe.json");
  EXPECT_GE(recipe["stages"].size(), 3);
  for (const auto& stage : recipe["stages"]) EXPECT_TRUE(stage["finished"]);

  const Json evaluation = json("r/log-z/ais.json");
  EXPECT_EQ(evaluation["seed"], 3);
  const std::string settings = text("r/network/config.toml");
  const double log_z = evaluation["log_z_bidirectional"];
  const auto number = [&](const std::string& key) {
    return std::stod(settings.substr(settings.find("\n" + key + " = ") + key.size() + 4));
  };
  EXPECT_EQ(number("base-log-z"), log_z);
  EXPECT_EQ(settings.find("base-evaluation"), std::string::npos);
  const bool closed = evaluation["verdict"] == "closed";
  EXPECT_EQ(settings.find("base-log-z-error") != std::string::npos, closed)
      << evaluation["verdict"];

  // Other commands say where the runs are.
  for (const std::string command : {"inspect r", "report r", "train --resume r"}) {
    const Outcome refused = run(command);
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    EXPECT_NE(refused.err.find(
                  "r is the directory of a recipe, whose runs are r/draws, r/log-z, r/network"),
              std::string::npos)
        << refused.err;
  }

  // The same command has nothing left to do; other options are another recipe.
  const auto written = fs::last_write_time(dir_ / "r/log-z/ais.json");
  succeeds("recipe own.toml --out r --seed 3 --threads 2");
  EXPECT_EQ(fs::last_write_time(dir_ / "r/log-z/ais.json"), written);
  refused("recipe own.toml --out r --seed 4",
          "holds a recipe whose stage rbm began with other options");
}

// A stage that has not begun may change, move, come or go.
TEST_F(Recipe, StagesThatHaveNotBegunMayChange) {
  const auto stage = [](const std::string& name, int steps) {
    return "[[stage]]\nname = \"" + name +
           "\"\ncommand = \"sample\"\ninstance = \"ising-grid:side=4,coupling=0.3\"\n" +
           "chains = 4\nsteps = " + std::to_string(steps) + "\n";
  };
  write("one.toml", stage("first", 20));
  write("two.toml", stage("first", 20) + stage("second", 30));
  write("changed.toml", stage("first", 20) + stage("other", 40) + stage("second", 30));
  write("wrong.toml", stage("first", 50) + stage("second", 30));
  succeeds("recipe one.toml --out r --threads 1 --quiet");
  const auto written = fs::last_write_time(dir_ / "r/first/summary.json");
  refused("recipe wrong.toml --out r", "whose stage first began with other options");
  succeeds("recipe two.toml --out r --threads 1 --quiet");
  EXPECT_EQ(fs::last_write_time(dir_ / "r/first/summary.json"), written);
  EXPECT_TRUE(fs::exists(dir_ / "r/second/summary.json"));
  refused("recipe changed.toml --out r", "whose stage second began with other options, or after");
  refused("recipe one.toml --out r", "whose stage second began");
  fs::remove_all(dir_ / "r/second");
  succeeds("recipe changed.toml --out r --threads 1 --quiet");
  EXPECT_TRUE(fs::exists(dir_ / "r/other/summary.json"));
  EXPECT_TRUE(fs::exists(dir_ / "r/second/summary.json"));
  write("r/recipe.json", "{}");
  refused("recipe two.toml --out r", "recipe.json is damaged");
}

TEST_F(Recipe, GoesOnAfterAnInterruption) {
  write("own.toml", kResidual);
  std::string longer = kResidual;
  longer.replace(longer.find("iters = 20"), 10, "iters = 300\ncheckpoint-every = 10");
  write("longer.toml", longer);
  Program program(words("recipe longer.toml --out r --threads 1"), {.directory = dir_.path()});
  ASSERT_TRUE(program.reaches([&] { return fs::exists(dir_ / "r/rbm/checkpoints/00000010.pt"); }));
  program.signal(SIGINT);
  const Outcome stopped = program.wait();
  EXPECT_EQ(stopped.exit_code, 130);
  EXPECT_NE(stopped.err.find("isinglass recipe longer.toml --out"), std::string::npos)
      << stopped.err;
  EXPECT_FALSE(json("r/recipe.json")["stages"][0]["finished"]);
  const Outcome rest = run("recipe longer.toml --out r --threads 1 --json");
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_NE(rest.err.find("train --resume="), std::string::npos) << rest.err;
  EXPECT_EQ(Json::parse(rest.out)["stages"]["rbm"]["iteration"], 300);
}

TEST_F(Recipe, IsRefusedBeforeAnythingRuns) {
  refused("recipe nothing.toml", "cannot read nothing.toml");
  refused_recipe("[[stage", "bad.toml: line 1 is not valid TOML");
  refused("recipe nothing", "unknown recipe 'nothing'; known: ");
  refused("train --preset residual-strokes",
          "residual-strokes is a recipe of several commands; isinglass recipe residual-strokes");
  refused("recipe", "the name of a recipe is needed");
  refused_recipe("", "has no [[stage]]");
  refused_recipe("model = \"rbm\"", "unknown key 'model'");
  refused_recipe("[[stage]]\nname = \"a\"\ncommand = \"bench\"", "command is 'bench'");
  refused_recipe("[[stage]]\nname = \"../a\"\ncommand = \"train\"", "must be the name of a folder");
  refused_recipe("[[stage]]\nname = \"a\"\ncommand = \"train\"\niter = 3", "did you mean iters");
  refused_recipe("[[stage]]\nname = \"a\"\ncommand = \"train\"\niters = \"3\"", "iters must be");
  refused_recipe("[[stage]]\nname = \"a\"\ncommand = \"train\"\nout = \"x\"",
                 "the recipe chooses the directory");
  refused_recipe(
      "[[stage]]\nname = \"a\"\ncommand = \"report\"\n"
      "[[stage]]\nname = \"a\"\ncommand = \"report\"",
      "two stages have the name a");
  fs::create_directories(dir_ / "full/notes");
  write("own.toml", kResidual);
  refused("recipe own.toml --out full", "already holds something else");
}

// A file that a later stage needs is looked for before the first stage runs; its path starts at the
// folder of the recipe.
TEST_F(Recipe, FilesThatDoNotExistAreFoundFirst) {
  const std::string later = std::string(kResidual) +
                            "[[stage]]\nname = \"more\"\ncommand = \"sample\"\nmodel = \"rbm\"\n"
                            "weights = \"other.pt\"\nchains = 2\nsteps = 3\n";
  refused_recipe(later, "bad.toml, stage more: weights names");
  refused_recipe(later, "other.pt, which does not exist");
  std::string base = kResidual;
  base.replace(base.find("rbm={out}/rbm/ema.pt"), 20, "rbm=none.pt");
  refused_recipe(base, "none.pt, which does not exist");
  refused("recipe own.toml --dataset none.pt --out bad", "cannot read own.toml");
  write("own.toml", kResidual);
  refused("recipe own.toml --dataset none.pt --out bad", "none.pt, which does not exist");
  EXPECT_FALSE(fs::exists(dir_ / "bad"));

  succeeds("recipe own.toml --out r --threads 1");
  fs::create_directories(dir_ / "folder");
  fs::copy_file(dir_ / "r/rbm/ema.pt", dir_ / "folder/other.pt");
  write("folder/draws.toml",
        "[[stage]]\nname = \"more\"\ncommand = \"sample\"\nmodel = \"rbm\"\n"
        "weights = \"other.pt\"\nchains = 2\nsteps = 3\n");
  succeeds("recipe folder/draws.toml --out draws");
  succeeds("recipe ./folder/draws.toml --out draws");  // the same recipe
}

// recipe.json holds U+FFFD for such bytes; the recipe is the same one all the same.
TEST_F(Recipe, GoesOnInADirectoryOfAnyBytes) {
  const std::string text = kResidual;
  write("page.toml", text.substr(0, text.find("[[stage]]\nname = \"log-z\"")) +
                         "[[stage]]\nname = \"page\"\ncommand = \"report\"\n"
                         "directory = \"{out}/rbm\"\n");
  for (int call = 0; call < 2; ++call) succeeds("recipe page.toml --threads 1 --out a\xff");
}

// The stages of a recipe are read before the first one looks for its data.
TEST_F(Recipe, TheRecipesOfTheProgramAreRead) {
  const std::string known = run("recipe --help").out;
  for (const char* name : {"residual-mnist", "residual-omniglot-standin", "residual-static-mnist",
                           "residual-strokes"}) {
    EXPECT_NE(known.find(name), std::string::npos) << known;
  }
  refused("recipe residual-static-mnist --data-dir . --out r --quiet", "static-mnist");
  const Json stages = json("r/recipe.json")["stages"];
  EXPECT_EQ(stages.size(), 5);
  EXPECT_FALSE(stages[0]["finished"]);
  // A recipe that has made nothing does not stand in the way of another one.
  refused("recipe residual-strokes --dataset none.pt --out r --quiet", "none.pt");
}

// A recipe that extends another has its stages, in which its own keys replace the others'.
TEST_F(Recipe, ExtendsARecipeOfTheProgram) {
  refused("recipe residual-omniglot-standin --data-dir . --out r --quiet", "omniglot28-standin");
  const Json stages = json("r/recipe.json")["stages"];
  ASSERT_EQ(stages.size(), 5);
  const auto has = [](const Json& stage, const std::string& argument) {
    const Json& all = stage["arguments"];
    return std::find(all.begin(), all.end(), argument) != all.end();
  };
  EXPECT_TRUE(has(stages[0], "--iters=80000"));
  EXPECT_FALSE(has(stages[0], "--iters=110000"));
  EXPECT_TRUE(has(stages[0], "--hidden=500"));
  EXPECT_TRUE(has(stages[2], "--iters=24000"));
  EXPECT_TRUE(has(stages[2], "--channels=32"));
  for (const size_t stage : {0, 1, 2, 3}) {
    EXPECT_TRUE(has(stages[stage], "--dataset=omniglot-standin")) << stage;
  }
  write("own.toml",
        "extends = \"residual-strokes\"\n[[stage]]\nname = \"rbm\"\niters = 7\n"
        "[[stage]]\nname = \"more\"\ncommand = \"report\"\ndirectory = \"{out}/rbm\"\n");
  refused("recipe own.toml --dataset none.pt --out own --quiet", "none.pt");
  refused_recipe("extends = \"nothing\"", "unknown recipe 'nothing'; known: ");
  refused_recipe("extends = 3", "extends must be a non-empty string");
  refused_recipe("extends = \"residual-strokes\"\nstage = 3", "stage must be [[stage]] tables");
  refused_recipe("extends = \"residual-strokes\"\n[[stage]]\niters = 3",
                 "name must be a non-empty string");
  refused_recipe("extends = \"residual-strokes\"\n[[stage]]\nname = \"new\"\niters = 3",
                 "command must be a non-empty string");
  refused_recipe("extends = \"residual-strokes\"\n[[stage]]\nname = \"rbm\"\niter = 3",
                 "did you mean iters");
}

TEST_F(Recipe, ABaseEvaluationMustBeThatOfTheBase) {
  write("own.toml", kResidual);
  succeeds("recipe own.toml --out one --threads 1");
  succeeds("recipe own.toml --out two --seed 1 --threads 1");
  const std::string network =
      "train --model residual --objective nce --channels 2 --iters 1 --batch 10 --dataset strokes "
      "--evaluate-every 0 --base-model rbm=one/rbm/ema.pt --out n ";
  refused(network + "--base-evaluation two/log-z", "evaluates other parameters than those of");
  refused(network + "--base-evaluation one/rbm", "has no ais.json");
  refused(network + "--base-evaluation one/log-z --base-log-z 3", "--base-log-z is not needed");
  fs::create_directories(dir_ / "broken");
  for (const char* text : {"{", "[]", R"({"log_z_bidirectional": "3"})"}) {
    write("broken/ais.json", text);
    refused(network + "--base-evaluation broken", "has no log_z_bidirectional");
  }
  write("broken/ais.json",
        R"({"log_z_bidirectional": 3, "verdict": null, "parameters_sha256": null})");
  refused(network + "--base-evaluation broken", "evaluates other parameters than those of");
  succeeds(network + "--base-evaluation one/log-z");
}

}  // namespace
}  // namespace isinglass::recipe_test
