// Help, versions and mistakes: a mistake gives exit code 2, one line on stderr with the right
// words, nothing on stdout and no output directory.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/inputs.h"
#include "tests/support/program.h"

namespace isinglass::usage_test {
namespace {

TEST(Usage, VersionIsOneLine) {
  const Outcome outcome = run_program("--version");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out.rfind("isinglass ", 0), 0u);
  EXPECT_EQ(line_count(outcome.out), 1);
  EXPECT_EQ(outcome.err, "");
}

TEST(Usage, HelpNamesEverySubcommandAndSharedFlag) {
  const Outcome general = run_program("--help");
  EXPECT_EQ(general.exit_code, 0);
  EXPECT_EQ(general.err, "");
  for (const std::string command :
       {"train", "sample", "evaluate", "energy", "ablate", "bench", "inspect", "report"}) {
    EXPECT_NE(general.out.find("\n  " + command), std::string::npos) << command;
    const Outcome help = run_program(command + " --help");
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_EQ(help.err, "") << command;
    for (const std::string flag :
         {"--config", "--device", "--threads", "--seed", "--out", "--quiet", "--json"}) {
      EXPECT_NE(help.out.find("\n  " + flag), std::string::npos) << command << " " << flag;
    }
  }
}

TEST(Usage, HelpShowsDefaultsAndRanges) {
  std::string help;  // without its line breaks
  for (const std::string& word : words(run_program("train --help").out)) help += word + " ";
  EXPECT_NE(help.find("default 50000"), std::string::npos);
  EXPECT_NE(help.find("default 0.0001"), std::string::npos);
  EXPECT_NE(help.find("at least 1"), std::string::npos);
  EXPECT_NE(help.find("default on; --no-base turns it off"), std::string::npos);
  EXPECT_NE(help.find("sqrt, barker, min, max"), std::string::npos);
}

TEST(Usage, HelpIsGroupedByTopic) {
  const std::string help = run_program("sample --help").out;
  size_t from = 0;
  for (const std::string topic :
       {"model", "sampler", "chains and steps", "data", "output", "program"}) {
    const size_t at = help.find("\n\n" + topic + "\n  --", from);
    ASSERT_NE(at, std::string::npos) << topic << " after " << from << "\n" << help;
    from = at;
  }
  EXPECT_NE(help.find("--leapfrog"), std::string::npos);
}

TEST(Usage, HelpOfASamplerLeavesOutTheOptionsOfOthers) {
  for (const std::string line : {"--help --sampler pafs", "--sampler=pafs --help"}) {
    const std::string help = run_program("sample " + line).out;
    for (const std::string option : {"radius", "balancing", "adapt", "target-acceptance"}) {
      EXPECT_NE(help.find("\n  --" + option + " "), std::string::npos) << option;
    }
    for (const std::string option : {"leapfrog", "group", "scan", "monotonic", "sigma"}) {
      EXPECT_EQ(help.find("\n  --" + option), std::string::npos) << option;
    }
    EXPECT_NE(help.find("default 5"), std::string::npos) << "pafs's own default";
    EXPECT_NE(help.find("\n  --chains"), std::string::npos);
  }
  const Outcome unknown = run_program("sample --help --sampler pfas");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("unknown sampler 'pfas'; known: "), std::string::npos) << unknown.err;
}

// Without --out, every run gets a directory of its own, and says where it is.
TEST(Defaults, LeaveOnlyTheModelToBeSaid) {
  TemporaryDirectory dir;
  write_ising(dir / "ising.pt");
  write_rbm(dir / "rbm.pt");
  write_pt(dir / "bars.pt", PtValue{bars()});
  const auto run = [&](const std::string& arguments) {
    return run_program(arguments, {.directory = dir.path()});
  };
  const std::vector<std::pair<std::string, std::string>> runs = {
      {"sample --model ising --weights ising.pt", "sample-1"},
      {"sample --model rbm --weights rbm.pt", "sample-2"},
      {"evaluate --model ising --weights ising.pt --steps 20", "evaluate-1"},
      {"train --dataset bars.pt --model rbm --hidden 3 --batch 5 --buffer 10 --iters 2",
       "train-1"}};
  for (const auto& [command, directory] : runs) {
    const Outcome made = run(command);
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const auto path = dir / "runs" / directory;
    EXPECT_TRUE(std::filesystem::exists(path / "config.toml")) << command;
    EXPECT_NE(made.err.find("this run is written to " + path.string()), std::string::npos)
        << made.err;
  }
  const std::string config = file_bytes(dir / "runs" / "sample-1" / "config.toml");
  EXPECT_NE(config.find("steps = 1000\n"), std::string::npos) << config;
  EXPECT_NE(config.find("sampler = 'gibbs'\nscan = 'chromatic'\n"), std::string::npos) << config;
  const Outcome quiet = run("sample --model ising --weights ising.pt --steps 3 --quiet");
  EXPECT_EQ(quiet.err, "");
  EXPECT_TRUE(std::filesystem::exists(dir / "runs" / "sample-3"));
}

// A lattice or an RBM is sampled in sweeps through all sites, where its states and the options that
// are given allow it.
TEST(Defaults, NameTheSamplerThatSuitsTheModelAndTheOptions) {
  TemporaryDirectory dir;
  write_ising(dir / "ising.pt");
  write_rbm(dir / "rbm.pt");
  write_pt(dir / "allowed.pt", PtValue{torch::ones({9, 2})});
  write_pt(dir / "fixed.pt", PtValue{torch::tensor({0, 1, -1, -1, -1, -1, -1, -1, -1})});
  const std::string ising = "--model ising --weights ising.pt";
  const std::vector<std::pair<std::string, std::string>> runs = {
      {"sample " + ising, "sampler = 'gibbs'\nscan = 'chromatic'\n"},
      {"sample --model rbm --weights rbm.pt", "sampler = 'gibbs'\nscan = 'chromatic'\n"},
      {"evaluate " + ising, "sampler = 'gibbs'\nscan = 'chromatic'\n"},
      {"evaluate --model rbm --weights rbm.pt", "sampler = 'gibbs'\nscan = 'chromatic'\n"},
      {"evaluate --model rbm --weights rbm.pt --path linear", "sampler = 'pafs'\n"},
      {"sample --fixed fixed.pt " + ising, "sampler = 'gibbs'\nscan = 'chromatic'\n"},
      {"evaluate --fixed fixed.pt " + ising, "sampler = 'gibbs'\nscan = 'chromatic'\n"},
      {"sample --scan random " + ising, "sampler = 'gibbs'\nscan = 'random'\n"},
      {"sample --allowed allowed.pt " + ising, "sampler = 'pafs'\n"},
      {"evaluate --allowed allowed.pt " + ising, "sampler = 'pafs'\n"},
      {"sample --radius 3 " + ising, "sampler = 'pafs'\nradius = 3.0\n"},
      {"sample --instance parity:sites=8", "sampler = 'gibbs'\nscan = 'random'\n"},
      {"sample --instance permutation:sites=4", "sampler = 'lb'\n"}};
  for (const auto& [command, expected] : runs) {
    const Outcome made = run_program(command + " --steps 10 --chains 10 --overwrite --out run",
                                     {.directory = dir.path()});
    ASSERT_EQ(made.exit_code, 0) << command << "\n" << made.err;
    const std::string config = file_bytes(dir / "run" / "config.toml");
    EXPECT_NE(config.find(expected), std::string::npos) << command << "\n" << config;
  }
}

struct Mistake {
  std::string arguments;
  std::vector<std::string> said;
};

class Mistakes : public ::testing::Test {
 protected:
  void SetUp() override {
    write_ising(dir_ / "ising.pt");
    write_rbm(dir_ / "rbm.pt");
    write_parity(dir_ / "parity.pt");
    write_permutation(dir_ / "permutation.pt");
    write_ising(dir_ / "nan.pt", std::nan(""));
    write_named_tensors(dir_ / "missing.pt", {{"edges", torch::zeros({0, 2}, torch::kInt64)},
                                              {"field", torch::zeros({9})}});
    write_pt(dir_ / "states.pt", PtValue{all_states()});
    write_pt(dir_ / "five.pt", PtValue{all_states().narrow(0, 0, 5).contiguous()});
    write_pt(dir_ / "twos.pt", PtValue{torch::full({4, 9}, 2, torch::kUInt8)});
    write_pt(dir_ / "bars.pt", PtValue{bars()});
    std::ofstream(dir_ / "text.pt") << "not a zip";
    std::ofstream(dir_ / "unknown.toml") << "stepz = 3\n";
    std::ofstream(dir_ / "type.toml") << "steps = \"many\"\n";
    std::ofstream(dir_ / "broken.toml") << "steps = = 3\n";
    std::filesystem::create_directory(dir_ / "held");
    std::ofstream(dir_ / "held" / "config.toml") << "# isinglass sample\nseed = 1\n";
    std::filesystem::create_directory(dir_ / "own");  // of a module that was trained in Python
    std::ofstream(dir_ / "own" / "config.toml") << "# isinglass train\nmodel = \"Q\"\n";
    write_ising(dir_ / "own" / "ema.pt");
  }

  void expect_refused(const Mistake& mistake) {
    const Outcome outcome = run_program(mistake.arguments, {.directory = dir_.path()});
    EXPECT_EQ(outcome.exit_code, 2) << mistake.arguments << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "") << mistake.arguments;
    EXPECT_EQ(line_count(outcome.err), 1) << mistake.arguments << "\n" << outcome.err;
    EXPECT_EQ(outcome.err.rfind("isinglass: error: ", 0), 0u) << outcome.err;
    for (const std::string& word : mistake.said) {
      EXPECT_NE(outcome.err.find(word), std::string::npos)
          << mistake.arguments << "\nlacks '" << word << "': " << outcome.err;
    }
    EXPECT_FALSE(std::filesystem::exists(dir_ / "out")) << mistake.arguments;
  }

  TemporaryDirectory dir_;
};

const std::string kSample =
    "sample --model ising --weights ising.pt --sampler gwg --steps 3 --out out ";

TEST_F(Mistakes, OfTheCommandLine) {
  for (const Mistake& mistake : std::vector<Mistake>{
           {"", {"subcommand", "train, sample"}},
           {"smaple", {"smaple", "known: sample"}},
           {"abalte", {"abalte", "ablate", "train", "inspect"}},
           {"sample --stepz 3",
            {"unknown flag --stepz; did you mean --steps? isinglass sample --help lists the "
             "options"}},
           {"sample -steps 3", {"-steps"}},
           {kSample + "stray", {"stray"}},
           {kSample + "--instance parity:u=1", {"--weights", "--instance"}},
           {"sample --model rbm --instance parity:u=1 --sampler rwm --steps 3 --out out",
            {"--model is rbm", "parity"}},
           {kSample + "--chains 4 --chains 5", {"--chains", "twice"}},
           {kSample + "--chains 0", {"--chains is 0", "from 1 to"}},
           {kSample + "--chains 1.5", {"--chains is '1.5'", "whole number"}},
           {kSample + "--chains 99999999999999999999", {"--chains"}},
           {kSample + "--burn-in -1", {"--burn-in is -1", "at least 0"}},
           {kSample + "--thin 4", {"--thin is 4", "--steps, which is 3"}},
           {kSample + "--thin 0", {"--thin is 0"}},
           {kSample + "--radius 0", {"--radius is 0", "from 1 to"}},
           {kSample + "--radius nan", {"--radius", "number"}},
           {kSample + "--radius inf", {"--radius"}},
           {kSample + "--radius 1e9", {"--radius"}},
           {kSample + "--balancing squirt", {"squirt", "known: sqrt"}},
           {kSample + "--threads -1", {"--threads"}},
           {kSample + "--seed", {"--seed needs a value"}},
           {kSample + "--image 28", {"--image", "28x28"}},
           {kSample + "--device gpu", {"--device", "cuda"}},
           {kSample + "--json=perhaps", {"--json", "true or false"}},
           {"sample --model ising --weights ising.pt --sampler gwg --out --json",
            {"--out needs"}}}) {
    expect_refused(mistake);
  }
}

TEST_F(Mistakes, OfNamesAndFiles) {
  for (
      const Mistake& mistake : std::vector<Mistake>{
          {"sample --model isng --weights ising.pt --sampler gwg --steps 3 --out out",
           {"isng", "ising"}},
          {"sample --model ising --weights ising.pt --sampler pfas --steps 3 --out out",
           {"pfas", "pafs"}},
          {"sample --model ising --sampler gwg --steps 3 --out out", {"weights"}},
          {"sample --model ising --weights no.pt --sampler gwg --steps 3 --out out", {"no.pt"}},
          {"sample --model ising --weights . --sampler gwg --steps 3 --out out", {"directory"}},
          {"sample --model ising --weights text.pt --sampler gwg --steps 3 --out out", {"text.pt"}},
          {"sample --model ising --weights nan.pt --sampler gwg --steps 3 --out out",
           {"nan.pt", "field"}},
          {"sample --model ising --weights missing.pt --sampler gwg --steps 3 --out out",
           {"missing.pt", "coupling"}},
          {"sample --model rbm --weights ising.pt --sampler gwg --steps 3 --out out", {"ising.pt"}},
          {kSample + "--sampler rwm --radius 10", {"--sampler", "twice"}},
          {"sample --model ising --weights ising.pt --sampler rwm --radius 10 --steps 3 --out out",
           {"--radius is 10", "rwm"}},
          {"sample --model parity --weights parity.pt --sampler lb --steps 3 --out out",
           {"parity", "--sites"}},
          {"sample --model parity --weights parity.pt --sites 9 --sampler pafs --steps 3 --out out",
           {"pafs", "parity", "these do: rwm, gibbs", "lb, pas"}},
          {"sample --model permutation --weights permutation.pt --sampler gibbs --steps 3 --out "
           "out",
           {"gibbs", "permutation", "these do: lb, pas"}},
          {"sample --model permutation --weights permutation.pt --sampler lb --steps 3 --out out "
           "--init five.pt",
           {"five.pt", "needs [N, 5]"}},
          {"evaluate --model permutation --weights permutation.pt --sampler lb --out out",
           {"annealing", "independent"}},
          {kSample + "--init five.pt --chains 4", {"--chains is 4", "5"}},
          {kSample + "--init twos.pt", {"twos.pt", "2"}},
          {kSample + "--init ising.pt", {"ising.pt"}},
          {kSample + "--init data", {"--dataset"}},
          {kSample + "--dataset bars.pt", {"--dataset would have no effect", "--init data"}},
          {kSample + "--data-dir .", {"--data-dir", "--dataset"}},
          {kSample + "--init data --dataset mnst", {"mnst", "mnist"}},
          {kSample + "--init data --dataset mnist --data-dir .", {"mnist"}},
          {kSample + "--chains 4000000000", {"--chains 4000000000", "memory"}},
          {"sample --model ising --weights ising.pt --sampler gwg --steps 1000000000 --out out",
           {"--chains 100", "1000000000 draws", "memory"}},
          {kSample + "--config no.toml", {"no.toml"}},
          {kSample + "--config unknown.toml", {"unknown.toml", "stepz", "steps"}},
          {"sample --model ising --weights ising.pt --sampler gwg --out out --config type.toml",
           {"type.toml", "steps"}},
          {kSample + "--config broken.toml", {"broken.toml", "line 1"}},
          {"sample --model ising --weights ising.pt --sampler gwg --steps 3 --out held",
           {"held", "already", "--overwrite"}},
          {"sample --model ising --weights ising.pt --sampler gwg --steps 3 --out ising.pt",
           {"ising.pt", "file"}},
          {"sample --model ising --weights ising.pt --sampler gwg --steps 3 --out ising.pt/out",
           {"ising.pt/out"}},
          {"sample --model ising --weights ising.pt --sampler gwg --steps 3 --out /proc/out",
           {"/proc/out"}}}) {
    expect_refused(mistake);
  }
  EXPECT_EQ(file_bytes(dir_ / "held" / "config.toml"), "# isinglass sample\nseed = 1\n");
}

// Every command that reads one model and makes nothing of it takes a target by name, too.
TEST_F(Mistakes, NoneForTheEnergiesOfAnInstance) {
  const Outcome outcome = run_program(
      "energy --instance ising-grid:side=3,coupling=0.3 --states five.pt --out instance.pt",
      {.directory = dir_.path()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(dir_ / "instance.pt"));
}

TEST_F(Mistakes, OfTheOtherSubcommands) {
  const std::string train = "train --dataset bars.pt --model rbm --hidden 3 --batch 5 --buffer 10 ";
  for (const Mistake& mistake : std::vector<Mistake>{
           {"train --model rbm --out out", {"--dataset", "required"}},
           {train + "--out out --iters 0", {"--iters is 0"}},
           {train + "--out out --steps-per-iter 40 --iters 107374183",
            {"--iters is 107374183; at most 107374182 is possible"}},
           {train + "--out out --lr 0", {"--lr is 0", "above 0"}},
           {train + "--out out --ema 1.5", {"--ema is 1.5"}},
           {train + "--out out --reinit 2", {"--reinit is 2"}},
           {train + "--out out --sampler gibbs --scan chromatic --rungs 3",
            {"--rungs needs a sampler other than block Gibbs sweeps"}},
           {train + "--out out --fresh 6", {"fresh is 6", "the batch, 5"}},
           {"train --dataset bars.pt --model rbm --objective cd --out out --fresh-iters 6",
            {"--fresh-iters", "cd"}},
           {train + "--out out --fresh-iters 6", {"--fresh-iters", "--fresh is 0"}},
           {train + "--out out --evaluate-steps 6 --evaluate-every 0",
            {"--evaluate-steps", "--evaluate-every is 0"}},
           {train + "--out out --channels 4", {"--channels", "applies to a resnet"}},
           {"train --dataset bars.pt --hidden 4 --out out", {"--hidden", "applies to an rbm"}},
           {"evaluate --model ising --weights ising.pt --levels 4 --out out",
            {"--levels", "--dataset"}},
           {"train --dataset bars.pt --model rbm --batch 11 --buffer 10 --out out",
            {"buffer", "batch"}},
           {train + "--out out --model ising", {"--model", "twice"}},
           {"train --dataset bars.pt --model potts --out out", {"potts", "trained"}},
           {"train --dataset bars.pt --channels 100000000 --out out", {"--channels", "memory"}},
           {train + "--out out --image 9x9", {"--image", "3x3"}},
           {"train --dataset strokes --model rbm --sampler dlp --unadjusted --evaluate-every 2 "
            "--out "
            "out",
            {"--evaluate-every", "dlp is not exact"}},
           {train + "--resume held --config type.toml", {"--config", "--resume"}},
           {train + "--resume nowhere", {"nowhere"}},
           {"evaluate --weights ising.pt --out out", {"--model"}},
           {"sample", {"--model", "--instance"}},
           {"sample --instance ising-grid:sdie=3 --out out",
            {"unknown key 'sdie'", "did you mean side?"}},
           {"sample --instance ising-grid:side --out out", {"KEY=X"}},
           {"sample --instance ising-grid:side=3 --stpes 10 --out out", {"did you mean --steps?"}},
           {"sample --instance ising-grid:side=3 --seed 1180591620717411303424 --out out",
            {"--seed", "at least 0, below 2^63"}},
           {"sample --model ising --weights ising.pt --dataset bars.pt --inpaint middle --out out",
            {"--inpaint is 'middle'", "upper, lower, left, right, random", "nor a file"}},
           {"train --resume held", {"is a run of `isinglass sample`"}},
           {"train --resume own", {"the model 'Q'", "Python"}},
           {"evaluate --weights own/ema.pt --out out", {"the model 'Q'", "Python"}},
           {"evaluate --model ising --weights ising.pt --out out --steps 0", {"--steps is 0"}},
           {"evaluate --model ising --weights ising.pt --out out --schedule lin",
            {"lin", "linear"}},
           {"evaluate --model rbm --weights rbm.pt --sampler gibbs --scan chromatic --path linear "
            "--out out",
            {"--path", "chromatic"}},
           {"evaluate --model rbm --weights rbm.pt --sampler pafs --path joint --out out",
            {"--path", "--sampler", "pafs"}},
           {"evaluate --model ising --weights ising.pt --path joint --out out", {"--path", "rbm"}},
           {"evaluate --model ising --weights ising.pt --path jo --out out", {"jo", "joint"}},
           {"evaluate --model ising --weights ising.pt --reverse-from exact --out out",
            {"--reverse-from", "exact"}},
           {"evaluate --model ising --weights ising.pt --reverse-from missing.pt --out out",
            {"missing.pt"}},
           {"evaluate --model ising --weights ising.pt --reverse-from ising.pt --out out",
            {"ising.pt", "tensor"}},
           {"evaluate --model ising --weights ising.pt --bracket -1 --out out",
            {"--bracket is -1"}},
           {"evaluate --model ising --weights ising.pt --until-closed -1 --out out",
            {"--until-closed is -1"}},
           {"evaluate --model ising --weights ising.pt --out out --device cpu --cuda-graph",
            {"--cuda-graph", "GPU", "cpu"}},
           {"sample --model ising --weights ising.pt --sampler pas --steps 1 --out out "
            "--cuda-graph",
            {"--cuda-graph", "pas", "not possible"}},
           {train + "--out out --device cpu --cuda-graph", {"--cuda-graph", "GPU", "cpu"}},
           {train + "--out out --base --no-base", {"--base is given twice"}},
           {train + "--out out --no-centre", {"unknown flag --no-centre"}},
           {"bench --model ising --weights ising.pt --device cpu --cuda-graph",
            {"--cuda-graph", "GPU", "cpu"}},
           {"evaluate --model ising --weights ising.pt --out out --dataset strokes",
            {"strokes", "784"}},
           {"energy --model ising --weights ising.pt --out out", {"--states", "required"}},
           {"energy --model ising --weights ising.pt --states five.pt", {"--out", "required"}},
           {"energy --model ising --weights ising.pt --states twos.pt --out out", {"twos.pt"}},
           {"energy --model ising --weights ising.pt --states five.pt --out five.pt", {"--states"}},
           {"energy --model ising --weights ising.pt --states five.pt --out .", {"directory"}},
           {"inspect", {"required"}},
           {"inspect nothing.pt", {"nothing.pt"}},
           {"inspect text.pt", {"text.pt"}},
           {"inspect .", {"config.toml"}},
           {"inspect ising.pt --out out", {"no images"}}}) {
    expect_refused(mistake);
  }
}

}  // namespace
}  // namespace isinglass::usage_test
