// Bad grids are refused before anything is written.
#include <gtest/gtest.h>

#include "tests/cli/ablate_fixture.h"

namespace isinglass::ablate_refusals_test {
namespace {

class AblateRefusals : public Ablate {};

// Replaces `what` in the grid and expects one line with `message`, and no directory.
struct Mistake {
  std::string what, by, message;
};

TEST_F(AblateRefusals, BadGridsAreRefusedByOneLine) {
  const std::vector<Mistake> mistakes = {
      {"title = ", "titel = ", "unknown key 'titel'; known: title"},
      {"\"gwg\"\n[[samplers]]", "\"gwgg\"\n[[samplers]]", "unknown sampler 'gwgg'; known: gwg"},
      {"radius = [1, 2]", "radius = [0]", "--radius is 0"},

      {"radius = [1, 2]", "radios = 1",
       "unknown key 'radios'; did you mean radius? isinglass sample --help"},
      {"ising.pt", "absent.pt", "absent.pt is not a file"},
      {"parity:u=2", "partiy:u=2", "unknown instance 'partiy'; known: parity"},

      {"metric = \"hops\"", "metric = \"hopps\"", "unknown metric 'hopps'; known: hops"},

      {"[common]", "[common", "is not valid TOML"},
      {"repeats = 2", "pictures = \"28\"", "pictures is '28'; HEIGHTxWIDTH"},
      {"title = \"A chain of spins\"", "title = 3", "title must be a string"},
      {"repeats = 2", "repeats = \"two\"", "repeats must be a whole number"},
      {"repeats = 2", "mean = \"x\"", "mean must be a number"},
      {"label = \"chain\"", "label = [\"a\", \"b\"]", "[[models]]: label must be a string"},
      {"label = \"chain\"", "train = 3", "[[models]]: train must be a table"},
      {"radius = [1, 2]", "seed = 3", "cells get their seeds from --seed"},
      {"radius = [1, 2]", "[samplers.more]\nradius = 1", "more must be a string, a number"},
      {"[[samplers]]\nsampler = \"pas\"",
       "[models.modes]\nwrong = [[1]]\n[[samplers]]\nsampler = \"pas\"", "modes: right is missing"},
      {"[[samplers]]\nsampler = \"pas\"",
       "[models.modes]\nright = [[1]]\n[[samplers]]\nsampler = \"pas\"",
       "modes: radius is missing"},
  };
  for (const Mistake& mistake : mistakes) {
    SCOPED_TRACE(mistake.by);
    std::string text = kGrid;
    for (size_t at = text.find(mistake.what); at != std::string::npos;
         at = text.find(mistake.what, at + mistake.by.size())) {
      text.replace(at, mistake.what.size(), mistake.by);
    }
    ASSERT_NE(text, kGrid);
    write_text(folder / "grid.toml", text);
    const Outcome refused = run(grid());
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(refused.out, "");
    EXPECT_EQ(line_count(refused.err), 1) << refused.err;
    EXPECT_NE(refused.err.find(mistake.message), std::string::npos) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  }
}

TEST_F(AblateRefusals, BadCommandLinesAreRefusedByOneLine) {
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"--preset partiy", "unknown preset 'partiy'; known: parity"},
      {"", "either --grid FILE or --preset NAME is needed"},
      {grid() + " --preset parity", "either --grid FILE or --preset NAME is needed"},

      {"--preset rbm --weights absent.pt", "absent.pt is not a file"},
      {"--grid absent.toml", "absent.toml"},
  };
  for (const auto& [line, message] : lines) {
    SCOPED_TRACE(line);
    const Outcome refused = run(line);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(line_count(refused.err), 1) << refused.err;
    EXPECT_NE(refused.err.find(message), std::string::npos) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  }
}

}  // namespace
}  // namespace isinglass::ablate_refusals_test
