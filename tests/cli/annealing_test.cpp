// isinglass sample --anneal: temperatures and lengths that it chooses, the best state of any target
// against enumeration, the verdict on the run, and what is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>

#include "io/files.h"
#include "io/pt/pt_file.h"
#include "tests/support/inputs.h"
#include "tests/support/program.h"

namespace isinglass::annealing_test {
namespace {

using Json = nlohmann::json;

class Annealing : public testing::Test {
 protected:
  // An Ising glass of nine spins on a complete graph, scaled.
  void write_glass(double scale) {
    const torch::Tensor edges = torch::combinations(torch::arange(9));
    write_named_tensors(dir_ / "glass.pt",
                        {{"edges", edges},
                         {"coupling", scale * torch::arange(36, torch::kFloat64).mul(1.7).sin()},
                         {"field", scale * torch::arange(9, torch::kFloat64).mul(2.3).cos()}});
  }

  Outcome sample(const std::string& arguments) {
    return run_program("sample --overwrite --out out --threads 1 " + arguments,
                       {.directory = dir_.path()});
  }
  Json summary(const std::string& arguments) {
    const Outcome outcome = sample("--quiet --json " + arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? Json::parse(outcome.out) : Json();
  }
  // Returns the energies of all states by `isinglass energy`.
  torch::Tensor energies(const std::string& model, const torch::Tensor& states) {
    write_pt(dir_ / "states.pt", PtValue{states});
    std::filesystem::remove(dir_ / "e.pt");
    const Outcome outcome =
        run_program("energy --states states.pt --out e.pt " + model, {.directory = dir_.path()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return read_named_tensors(dir_ / "e.pt")[0].second.to(torch::kFloat64);
  }

  TemporaryDirectory dir_;
};

torch::Tensor all_states_of_five_sites() {
  const torch::Tensor three = torch::arange(3).to(torch::kUInt8);
  return torch::cartesian_prod({three, three, three, three, three});
}

TEST_F(Annealing, KeepsTheStateOfLeastEnergyOfAnyTarget) {
  write_glass(1);
  write_rbm(dir_ / "rbm.pt");
  write_potts(dir_ / "potts.pt");
  write_file(dir_ / "net.uai",
             "BAYES 3 2 2 2 3 1 0 2 0 1 3 0 1 2 2 .6 .4 4 .2 .8 .7 .3 8 .9 .1 .4 .6 .3 .7 .5 .5");
  write_file(dir_ / "qubo.txt", "# offset 1\n0 0 -4\n1 1 -1\n2 2 -2\n0 1 3\n1 2 1\n");
  const torch::Tensor eight = all_states().slice(1, 0, 3).slice(0, 0, 8);
  const std::map<std::string, torch::Tensor> targets = {
      {"--model ising --weights glass.pt", all_states()},
      {"--model rbm --weights rbm.pt", all_states()},
      {"--model potts --weights potts.pt", all_states_of_five_sites()},
      {"--model bayesnet --weights net.uai", eight},
      {"--model qubo --weights qubo.txt", eight}};
  for (const auto& [target, states] : targets) {
    SCOPED_TRACE(target);
    const torch::Tensor energy = energies(target, states);
    const Json run = summary(target + " --anneal auto --burn-in 300 --chains 20");
    const double least = energy.min().item<double>();
    EXPECT_NEAR(run["best"]["value"].get<double>(), least, 2e-6 * std::abs(least) + 1e-6);
    EXPECT_EQ(run["best"]["minimises"], true);
    const torch::Tensor best = std::get<torch::Tensor>(read_pt(dir_ / "out" / "best.pt").value);
    EXPECT_TRUE(torch::equal(best, states.narrow(0, energy.argmin().item<int64_t>(), 1)));
    EXPECT_EQ(run["steps"], 10);
    EXPECT_GE(run["annealing"]["found_by"].get<int>(), 1);
  }
}

// Multiplication by a power of two commutes with rounding: the same moves at scaled temperatures.
TEST_F(Annealing, FollowsTheScaleOfTheEnergies) {
  std::map<int, Json> runs;
  for (const int power : {0, -20, 20}) {
    write_glass(std::ldexp(1, power));
    runs[power] = summary("--model ising --weights glass.pt --anneal auto --burn-in 200 --seed 3");
  }
  const auto temperatures = [](const Json& run) {
    double first = 0, last = 0;
    EXPECT_EQ(std::sscanf(run["anneal"].get<std::string>().c_str(), "%lf,%lf", &first, &last), 2);
    return std::pair(first, last);
  };
  const auto [first, last] = temperatures(runs[0]);
  EXPECT_GT(first, last);
  for (const int power : {-20, 20}) {
    const auto [other_first, other_last] = temperatures(runs[power]);
    EXPECT_EQ(std::ldexp(other_first, -power), first);
    EXPECT_EQ(std::ldexp(other_last, -power), last);
    EXPECT_EQ(std::ldexp(runs[power]["best"]["value"].get<double>(), -power),
              runs[0]["best"]["value"].get<double>());
    EXPECT_EQ(runs[power]["best"]["step"], runs[0]["best"]["step"]);
    EXPECT_EQ(runs[power]["best"]["found_by"], runs[0]["best"]["found_by"]);
  }
}

// A hundred spins in fields of a thousandth: 2,0.1 is far too hot for them.
TEST_F(Annealing, SmallFieldsAreAnnealedAndUselessTemperaturesAreAWarning) {
  write_named_tensors(dir_ / "small.pt", {{"edges", torch::tensor({{0, 1}})},
                                          {"coupling", torch::zeros({1}, torch::kFloat64)},
                                          {"field", torch::full({100}, 1e-3, torch::kFloat64)}});
  const std::string run = "--model ising --weights small.pt --burn-in 500 --steps 10 --anneal ";
  EXPECT_NEAR(summary(run + "auto")["best"]["value"].get<double>(), -0.1, 1e-12);
  const Outcome annealed = sample(run + "auto");
  EXPECT_EQ(annealed.err.find("warning"), std::string::npos);
  // Draws at another temperature are not draws of the target.
  EXPECT_NE(annealed.out.find("not exact: after annealing"), std::string::npos) << annealed.out;
  EXPECT_EQ(summary(run + "auto")["exact"], false);
  EXPECT_EQ(summary(run + "2,1")["exact"], true);
  const Outcome hot = sample(run + "2,0.1");
  EXPECT_EQ(hot.exit_code, 0);
  EXPECT_NE(hot.err.find("--anneal 2,0.1 ends too hot: at the last temperature 98 %"),
            std::string::npos)
      << hot.err;
  const Outcome cold = sample(run + "0.0001,0.00001");
  EXPECT_NE(cold.err.find("--anneal 0.0001,1e-05 starts too cold"), std::string::npos) << cold.err;
}

TEST_F(Annealing, ATimeIsKeptAndItsStepsAreReproducible) {
  write_glass(1);
  const std::string target = "--model ising --weights glass.pt --chains 30 --seed 4 ";
  const Json timed = summary(target + "--anneal auto --time 2");
  EXPECT_EQ(timed["sampler"], "metropolis");
  // A loaded machine may be several times slower or faster while it measures.
  EXPECT_GT(timed["annealing"]["seconds"].get<double>(), 0.1);
  EXPECT_LT(timed["annealing"]["seconds"].get<double>(), 12);
  const NamedTensors draws = read_named_tensors(dir_ / "out" / "samples.pt");
  const std::string recorded = read_file(dir_ / "out" / "config.toml");
  EXPECT_EQ(recorded.find("time"), std::string::npos) << recorded;
  const Json again =
      summary(target + "--sampler metropolis --anneal " + timed["anneal"].get<std::string>() +
              " --steps 10 --burn-in " + std::to_string(timed["burn_in"].get<int64_t>()));
  EXPECT_EQ(again["best"], timed["best"]);
  EXPECT_TRUE(
      torch::equal(read_named_tensors(dir_ / "out" / "samples.pt")[0].second, draws[0].second));
}

// Without --chains a long time is shared among three populations, or populations of the given size.
TEST_F(Annealing, ATimeChoosesTheNumberOfChains) {
  write_glass(1);
  const std::string run = "--model ising --weights glass.pt --seed 4 ";
  const auto of = [](const Json& timed, const char* name) { return timed[name].get<int64_t>(); };
  const Json timed = summary(run + "--anneal auto --time 5");
  const int64_t chains = of(timed, "chains");
  if (chains == 100) {
    // A loaded machine. Twice three million steps, because its pace may change while it measures.
    EXPECT_LT(of(timed, "burn_in"), 60000);
    return;
  }
  EXPECT_GE(chains, 3000);
  EXPECT_EQ(chains % 3, 0);
  EXPECT_EQ(timed["annealing"]["group"], chains / 3);
  EXPECT_LT(timed["annealing"]["seconds"].get<double>(), 15);
  const Json again = summary(run + fmt::format("--anneal {} --steps 10 --burn-in {} --chains {} "
                                               "--population {} --sampler metropolis",
                                               timed["anneal"].get<std::string>(),
                                               of(timed, "burn_in"), chains, chains / 3));
  EXPECT_EQ(again["best"], timed["best"]);
  const Json sized = summary(run + "--anneal auto --time 5 --population 70");
  EXPECT_GT(of(sized, "chains"), 140);
  EXPECT_EQ(of(sized, "chains") % 70, 0);
  EXPECT_EQ(sized["annealing"]["group"], 70);
  const Json apart = summary(run + "--anneal auto --time 1 --population 1");
  EXPECT_EQ(of(apart, "chains"), 100);
}

TEST_F(Annealing, AnInterruptedRunGoesOnWithItsNumberOfSteps) {
  write_glass(1);
  Program program(words("sample --model ising --weights glass.pt --anneal auto --time 20 --chains "
                        "10 --threads 1 --quiet --out timed"),
                  {.directory = dir_.path()});
  ASSERT_TRUE(program.reaches([&] { return std::filesystem::exists(dir_ / "timed/config.toml"); }));
  usleep(500000);
  program.signal(SIGINT);
  const Outcome stopped = program.wait();
  EXPECT_EQ(stopped.exit_code, 130);
  EXPECT_NE(stopped.err.find("the best solution of burn-in and of these steps, -"),
            std::string::npos)
      << stopped.err;
  EXPECT_NE(stopped.err.find("sample --resume"), std::string::npos) << stopped.err;
  EXPECT_EQ(stopped.err.find("repeats the burn-in"), std::string::npos) << stopped.err;
  EXPECT_TRUE(std::filesystem::exists(dir_ / "timed/best.pt"));
  const Json half = Json::parse(read_file(dir_ / "timed/summary.json"));
  EXPECT_EQ(half["steps_done"], 0);
  const Outcome resumed =
      run_program("sample --resume timed --quiet --json", {.directory = dir_.path()});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  const Json whole = Json::parse(resumed.out);
  EXPECT_EQ(whole["burn_in"], half["burn_in"]);
  EXPECT_EQ(whole["anneal"], half["anneal"]);
  EXPECT_EQ(whole["steps_done"], 10);
}

TEST_F(Annealing, TheVerdictIsAboutTheBestValue) {
  write_glass(1);
  const double least =
      energies("--model ising --weights glass.pt", all_states()).min().item<double>();
  const std::string run =
      "--model ising --weights glass.pt --anneal auto --population 1 --burn-in 400 --seed 1 ";
  const Json found = summary(run);
  const Json& verdict = found["annealing"];
  EXPECT_EQ(verdict["sought"], "best");
  const auto chains = found["chains"].get<double>();
  const double p = verdict["found_by"].get<double>() / chains;
  EXPECT_EQ(verdict["found_by"], found["best"]["found_by"]);
  EXPECT_DOUBLE_EQ(verdict["found"].get<double>(), p);
  EXPECT_LT(verdict["found_interval"][0].get<double>(), p);
  const double needed = p >= 0.99 ? 1 : std::log(0.01) / std::log(1 - p);
  EXPECT_NEAR(verdict["chains_needed"].get<double>(), needed, 1e-9 * needed);
  const double seconds = verdict["seconds"];
  EXPECT_NEAR(verdict["seconds_per_chain"].get<double>(), seconds / chains, 1e-12);
  EXPECT_NEAR(verdict["time_to_solution"].get<double>(), needed * seconds / chains, 1e-9);
  EXPECT_LE(found["best"]["step"].get<double>(), verdict["mean_step"].get<double>());
  EXPECT_NEAR(verdict["mean_seconds"].get<double>(),
              verdict["mean_step"].get<double>() / 410 * seconds, 1e-9);
  // An optimum that no chain reaches gives a lower bound of the time.
  const Json missed = summary(run + "--optimum=" + std::to_string(least - 1));
  EXPECT_EQ(missed["annealing"]["sought"], "optimum");
  EXPECT_EQ(missed["annealing"]["found_by"], 0);
  EXPECT_EQ(missed["annealing"]["found_interval"][0], 0.0);
  EXPECT_GT(missed["annealing"]["time_to_solution_interval"][0].get<double>(), 0);
  const Outcome text = sample(run);
  EXPECT_EQ(text.err.find("warning"), std::string::npos) << text.err;
  EXPECT_EQ(text.out.find("R-hat"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("chains reached the best solution, on average after"), std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("time to solution (99 %)"), std::string::npos) << text.out;
}

// A torus of the couplings ±1 has few neighbours, so that chains exchange clusters and the verdict
// counts groups of chains.
TEST_F(Annealing, OnGraphsOfFewNeighboursGroupsExchangeClusters) {
  const std::string run =
      "--instance edwards-anderson:side=20 --anneal auto --burn-in 400 --seed 2 ";
  const Json grouped = summary(run + "--chains 40"), &verdict = grouped["annealing"];
  EXPECT_EQ(grouped["sampler"], "cluster-gibbs");
  EXPECT_EQ(verdict["group"], 10);
  const double p = verdict["found_by"].get<double>() / 4;
  EXPECT_GE(p, 0.25);
  EXPECT_DOUBLE_EQ(verdict["found"].get<double>(), p);
  const double groups = p >= 0.99 ? 1 : std::log(0.01) / std::log(1 - p);
  EXPECT_NEAR(verdict["chains_needed"].get<double>(), 10 * groups, 1e-9 * groups);
  EXPECT_NEAR(verdict["time_to_solution"].get<double>(),
              groups * verdict["seconds"].get<double>() / 4, 1e-9);
  EXPECT_NE(sample(run + "--chains 40").out.find(" of 4 groups of 10 chains reached the best"),
            std::string::npos);
  // On a torus of 5000 sites, chains without partners find smaller cuts in as many steps.
  const std::string large = "--instance gset:G57 --anneal auto --burn-in 3000 --seed 1 --chains 40";
  const Json cuts = summary(large),
             apart = summary(large + " --sampler gibbs --scan chromatic --population 1");
  EXPECT_EQ(cuts["sampler"], "cluster-gibbs");
  EXPECT_GT(cuts["best"]["value"].get<double>(), apart["best"]["value"].get<double>() + 5);
  const Json odd = summary(run + "--chains 15");
  EXPECT_EQ(odd["sampler"], "gibbs");
  EXPECT_FALSE(odd["annealing"].contains("group"));
}

// Groups of ten chains are resampled by default, so that the verdict counts groups. On a graph of
// 2000 vertices they find larger cuts than independent chains in as many steps.
TEST_F(Annealing, GroupsOfChainsAreResampled) {
  const std::string run = "--instance gset:G36 --anneal auto --burn-in 600 --seed 1 --chains 40 ";
  const Json groups = summary(run), apart = summary(run + "--population 1");
  EXPECT_EQ(groups["sampler"], "metropolis");
  EXPECT_EQ(groups["annealing"]["group"], 10);
  EXPECT_FALSE(apart["annealing"].contains("group"));
  EXPECT_GT(groups["best"]["value"].get<double>(), apart["best"]["value"].get<double>());
  const Outcome pairs = sample(run + "--population 2");
  EXPECT_NE(pairs.out.find(" of 20 groups of 2 chains reached the best"), std::string::npos)
      << pairs.out;
  const std::string recorded = read_file(dir_ / "out" / "config.toml");
  EXPECT_NE(recorded.find("population = 2"), std::string::npos) << recorded;
  // A model that is no lattice, and one sampler of its own choice.
  write_rbm(dir_ / "rbm.pt");
  const Json rbm = summary("--model rbm --weights rbm.pt --anneal 2,.1 --burn-in 50 --chains 20");
  EXPECT_EQ(rbm["annealing"]["group"], 10);
}

TEST_F(Annealing, WrongOptionsAreOneSentence) {
  write_glass(1);
  write_permutation(dir_ / "permutation.pt");
  const std::string run = "sample --model ising --weights glass.pt --out out ";
  const std::map<std::string, std::string> wrong = {
      {run + "--burn-in 9 --anneal .1,2", "--anneal is '.1,2', which heats; annealing cools"},
      {run + "--burn-in 9 --anneal warm", "--anneal is 'warm'; two temperatures above 0"},
      {run + "--anneal auto", "--burn-in is 0; at least 2 is needed, or a --time in seconds"},
      {run + "--time 3 --sampler gibbs", "--time is the time of an annealing run, but --anneal"},
      {run + "--sampler cluster-gibbs", "--sampler cluster-gibbs exchanges states between chains"},
      {run + "--population 4", "--population resamples annealed chains, but --anneal is not given"},
      {run + "--anneal auto --burn-in 9 --population 7",
       "--population is 7, which does not divide the number of chains, 100"},
      {run + "--sampler cluster-gibbs --anneal auto --burn-in 9 --population 10",
       "--sampler cluster-gibbs exchanges states between chains, which copies of one chain cannot"},
      {run + "--anneal auto --time 3 --burn-in 5", "--time and --burn-in exclude each other"},
      {run + "--anneal auto --time 0", "--time is 0"},
      {run + "--anneal auto --burn-in 9 --rungs 4", "--rungs and --anneal exclude each other"},
      {"sample --model permutation --weights permutation.pt --out out --anneal auto --time 1",
       "--anneal cools binary and categorical sites"},
  };
  for (const auto& [command, message] : wrong) {
    const Outcome outcome = run_program(command, {.directory = dir_.path()});
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_EQ(line_count(outcome.err), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(dir_ / "out")) << command;
  }
}

}  // namespace
}  // namespace isinglass::annealing_test
