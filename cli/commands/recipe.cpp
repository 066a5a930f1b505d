// isinglass recipe: runs several commands after one another, each in a directory of its own, such
// as a training, its evaluation and the page about both. A recipe is part of the program
// (lab/presets/recipes/) or a TOML file:
//
//   dataset = "static-mnist"            # for all stages, unless --dataset is given
//   [[stage]]
//   name = "base"                       # its directory below --out
//   command = "train"
//   model = "rbm"                       # one key per option of the command
//   [[stage]]
//   name = "likelihood"
//   command = "evaluate"
//   weights = "{out}/base/ema.pt"       # {out} stands for the directory of the recipe
//
// With extends = "NAME" it is a recipe of the program with other keys: those of a stage replace the
// keys of the stage of that name, and stages with a name of their own come last.
//
// Relative paths start at the folder of the file, as in grids. Mistakes in any stage, and files
// that do not exist, are found before the first one runs.
//
// recipe.json in that directory holds the commands and the time that each took. The same command
// line goes on with a recipe that was interrupted. Stages that have not begun may have changed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cli/commands/commands.h"
#include "cli/job.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "io/error.h"
#include "io/files.h"
#include "io/json.h"
#include "lab/presets/presets.h"
#include "lab/run/assemble.h"
#include "lab/spec/configuration.h"
#include "lab/spec/tables.h"
#include "lab/toml.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

const std::vector<std::string> kCommands = {"train", "sample", "evaluate", "ablate", "report"};
// The options of a recipe that it passes to every stage whose command has them and whose table
// does not set them. `sample` takes data only to inpaint and to begin at them.
const std::vector<std::string> kShared = {"dataset",    "data-dir", "image", "levels",
                                          "validation", "test",     "seed"};

struct Stage {
  std::string name;
  const Command* command = nullptr;
  std::vector<std::string> arguments = {};  // without those of the directory and of the machine
  double seconds = 0;                       // spent so far
  bool finished = false;

  // Returns true if the command writes a run directory, from which it can be resumed.
  bool has_directory() const { return find_option(command->options, "resume"); }
};

std::string argument(const std::string& name, const OptionValue& value) {
  return fmt::format("--{}={}", name, value_text(value));
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

bool is_recipe_file(const std::string& name) {
  return name.ends_with(".toml") || name.find('/') != std::string::npos;
}

std::string recipe_name(const Options& options) {
  const std::string& said = options.text("recipe");
  return is_recipe_file(said) ? fs::path(said).stem().string() : said;
}

std::string recipe_text(const std::string& name) {
  return is_recipe_file(name) ? read_file(name) : preset_text(recipe_presets(), name, "recipe");
}

fs::path directory_of(const Options& options) {
  const fs::path said =
      options.has("out") ? options.path("out") : fs::path("runs") / recipe_name(options);
  return fs::absolute(said).lexically_normal();
}

std::string text_at(const toml::table& table, const char* key, const std::string& where) {
  const auto value = table[key].value<std::string>();
  require(value && !value->empty(), "{}: {} must be a non-empty string", where, key);
  return *value;
}

// Returns the recipe that this one extends, with what this one changes.
toml::table extended(const toml::table& recipe, const std::string& where) {
  if (!recipe.contains("extends")) return recipe;
  const std::string name = text_at(recipe, "extends", where);
  const std::string of_base = "recipe " + name;
  toml::table whole =
      extended(parse_toml(preset_text(recipe_presets(), name, "recipe"), of_base), of_base);
  for (const auto& [key, node] : recipe) {
    if (key != "extends" && key != "stage") whole.insert_or_assign(key, node);
  }
  if (!recipe.contains("stage")) return whole;
  const toml::array* changes = recipe["stage"].as_array();
  require(changes && changes->is_array_of_tables(), "{}: stage must be [[stage]] tables", where);
  toml::array& stages = *whole["stage"].as_array();
  for (const toml::node& node : *changes) {
    const toml::table& change = *node.as_table();
    const std::string changed = text_at(change, "name", where);
    const auto found = std::find_if(stages.begin(), stages.end(), [&](const toml::node& stage) {
      return (*stage.as_table())["name"].value<std::string>() == changed;
    });
    if (found == stages.end()) {
      stages.push_back(change);
    } else {
      for (const auto& [key, value] : change) found->as_table()->insert_or_assign(key, value);
    }
  }
  return whole;
}

// Throws Error if a file that the option names does not exist, unless an earlier stage makes it.
void require_files(const Option& option, const std::string& value, const fs::path& out,
                   const std::string& where) {
  static const std::set<std::string> kWritten = {"out", "cache"};
  if (kWritten.contains(option.name)) return;
  for (const fs::path& file : files_named_by(option, value)) {
    const std::string inside = file.lexically_normal().lexically_relative(out).string();
    const bool made = !inside.empty() && !inside.starts_with("..");
    require(made || fs::exists(file), "{}: {} names {}, which does not exist", where, option.name,
            file.string());
  }
}

// Paths of the table start at `folder`, those of `shared` at the working directory.
Stage stage_of(const toml::table& table, const std::string& where, const fs::path& folder,
               const fs::path& out, const OptionValues& shared) {
  Stage stage{.name = text_at(table, "name", where)};
  require(stage.name.find_first_of("/\\{}") == std::string::npos && !stage.name.starts_with('.'),
          "{}: name '{}' must be the name of a folder", where, stage.name);
  const std::string in = fmt::format("{}, stage {}", where, stage.name);
  const std::string name = text_at(table, "command", in);
  require(std::find(kCommands.begin(), kCommands.end(), name) != kCommands.end(),
          "{}: command is '{}'; {} are possible", in, name, fmt::join(kCommands, ", "));
  stage.command = &find_command(name);
  std::set<std::string> given;
  bool uses_data = name != "sample";
  for (const auto& [key, node] : table) {
    const std::string known(key.str());
    if (known == "name" || known == "command") continue;
    const Option* option = find_option(stage.command->options, known);
    require(option, "{}: unknown key '{}'{}", in, known,
            known_options(stage.command->options, known, name));
    require(known != "resume" && known != "overwrite" && !(known == "out" && stage.has_directory()),
            "{}: {} is not possible, because the recipe chooses the directory", in, known);
    OptionValue value = toml_value(*option, node, in);
    if (auto* text = std::get_if<std::string>(&value)) {
      *text = starting_at(folder, *option, replaced(*text, "{out}", out.string()));
      require_files(*option, *text, out, in);
    }
    uses_data |= known == "inpaint" || (known == "init" && value == OptionValue("data"));
    stage.arguments.push_back(argument(known, value));
    given.insert(known);
  }
  for (const std::string& one : kShared) {
    const auto value = shared.find(one);
    if (value == shared.end() || given.contains(one)) continue;
    if (!uses_data && one != "seed") continue;
    if (const Option* option = find_option(stage.command->options, one)) {
      if (const auto* text = std::get_if<std::string>(&value->second)) {
        require_files(*option, *text, out, in);
      }
      stage.arguments.push_back(argument(one, value->second));
    }
  }
  parse_options(*stage.command, stage.arguments);  // finds mistakes before anything runs
  return stage;
}

std::vector<Stage> stages_of(const Options& options, const fs::path& out) {
  const std::string& name = options.text("recipe");
  const bool is_file = is_recipe_file(name);
  const std::string where = is_file ? name : "recipe " + name;
  const fs::path folder =
      is_file ? fs::absolute(name).lexically_normal().parent_path() : fs::current_path();
  const toml::table recipe = extended(parse_toml(recipe_text(name), where), where);
  const OptionTable evaluation = options_of<EvaluateSpec>();
  OptionValues shared = options.said();
  for (const auto& [key, node] : recipe) {
    if (key == "stage") continue;
    require(key == "dataset" && node.is_string(),
            "{}: unknown key '{}'; dataset, extends and [[stage]] are known", where, key.str());
    const Option* dataset = find_option(evaluation, "dataset");
    shared.try_emplace("dataset", starting_at(folder, *dataset, *node.value<std::string>()));
  }
  const toml::array* tables = recipe["stage"].as_array();
  require(tables && tables->is_array_of_tables(), "{} has no [[stage]]", where);
  std::vector<Stage> stages;
  std::set<std::string> names;
  for (const toml::node& table : *tables) {
    stages.push_back(stage_of(*table.as_table(), where, folder, out, shared));
    require(names.insert(stages.back().name).second, "{}: two stages have the name {}", where,
            stages.back().name);
  }
  return stages;
}

Json commands_of(const Stage& stage) {
  return {{"name", stage.name}, {"command", stage.command->name}, {"arguments", stage.arguments}};
}

Json json_of(const std::vector<Stage>& stages) {
  Json list = Json::array();
  for (const Stage& stage : stages) {
    list.push_back(commands_of(stage));
    list.back()["seconds"] = stage.seconds;
    list.back()["finished"] = stage.finished;
  }
  return list;
}

// Takes over the times of stages and whether they are finished. Throws Error if the directory holds
// anything else, or if a stage that has begun had other options or another place. A recipe that
// failed before its first stage wrote anything is as good as none.
void take_over(std::vector<Stage>& stages, const fs::path& out) {
  const fs::path file = out / kRecipeFile;
  if (!fs::exists(file)) {
    require(!fs::exists(out) || (fs::is_directory(out) && fs::is_empty(out)),
            "--out {} already holds something else; give another directory", out.string());
    return;
  }
  if (std::distance(fs::directory_iterator(out), {}) == 1) return;
  try {
    const Json before = Json::parse(read_file(file)).at("stages");
    bool same = true;
    for (size_t i = 0; i < std::max(stages.size(), before.size()); ++i) {
      // As text, in which bytes that are not UTF-8 are the same again.
      same &= i < stages.size() && i < before.size();
      if (same) {
        Json commands = before[i];
        commands.erase("seconds");
        commands.erase("finished");
        same = text_of(commands_of(stages[i])) == text_of(commands);
      }
      if (same) {
        before[i].at("seconds").get_to(stages[i].seconds);
        before[i].at("finished").get_to(stages[i].finished);
      } else if (i < before.size()) {
        const std::string name = before[i].at("name");
        require(!fs::exists(out / name),
                "--out {} holds a recipe whose stage {} began with other options, or after other "
                "stages; give another directory",
                out.string(), name);
      }
    }
  } catch (const Json::exception&) {
    throw Error(fmt::format("{} is damaged; give another directory", file.string()));
  }
}

// Returns true if an earlier process has finished the run in this directory.
bool finished(const Command& command, const fs::path& directory) {
  return (command.name == "evaluate" && fs::exists(directory / "ais.json")) ||
         (command.name == "sample" && fs::exists(directory / "summary.json"));
}

// Runs a stage, or goes on with it, and returns its text for stdout.
std::string run_stage(const Stage& stage, const fs::path& out, const Options& options) {
  const fs::path directory = out / stage.name;
  const bool begun = stage.has_directory() && command_of_run(directory) == stage.command->name;
  std::vector<std::string> arguments = stage.arguments;
  if (begun) {
    if (finished(*stage.command, directory)) return "";
    arguments = {argument("resume", directory.string())};
  } else if (stage.has_directory()) {
    arguments.push_back(argument("out", directory.string()));
  }
  for (const char* name : {"device", "threads"}) {
    const auto said = options.said().find(name);
    if (said != options.said().end()) arguments.push_back(argument(name, said->second));
  }
  if (!quiet(options)) {
    fmt::print(stderr, "isinglass: {}: isinglass {} {}\n", stage.name, stage.command->name,
               fmt::join(arguments, " "));
  }
  for (const char* name : {"quiet", "json"}) {
    if (options.flag(name)) arguments.push_back(argument(name, true));
  }
  return stage.command->run(parse_options(*stage.command, arguments));
}

std::string run_recipe(const Options& options) {
  require(options.has("recipe"), "the name of a recipe is needed; known: {}; or a .toml file",
          fmt::join(preset_names(recipe_presets()), ", "));
  const std::string recipe = options.text("recipe");
  const fs::path out = directory_of(options);
  const std::string again =
      fmt::format("isinglass recipe {} --out {}, with the same options, goes on with the recipe",
                  recipe, out.string());
  std::vector<Stage> stages = stages_of(options, out);
  take_over(stages, out);
  const auto save = [&] {
    fs::create_directories(out);
    const Json state = {{"recipe", recipe}, {"stages", json_of(stages)}};
    write_file(out / kRecipeFile, text_of(state, 2) + "\n");
  };
  save();
  Json results = Json::object();
  for (Stage& stage : stages) {
    if (stage.finished) continue;
    if (interrupted()) {
      throw Interrupted(fmt::format("the recipe ended before {}; {}", stage.name, again));
    }
    const auto start = std::chrono::steady_clock::now();
    const auto save_time = [&] {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      stage.seconds += spent.count();
      save();
    };
    try {
      const std::string text = run_stage(stage, out, options);
      if (options.flag("json")) {
        results[stage.name] = text.empty() ? Json() : Json::parse(text);
      } else {
        std::fputs(text.c_str(), stdout);
        std::fflush(stdout);
      }
    } catch (const Interrupted& reason) {
      save_time();
      throw Interrupted(fmt::format("{}, and {}", reason.what(), again));
    }
    stage.finished = true;
    save_time();
  }
  double seconds = 0;
  for (const Stage& stage : stages) seconds += stage.seconds;
  if (options.flag("json")) {
    return text_of(Json{{"recipe", recipe},
                        {"out", out.string()},
                        {"seconds", seconds},
                        {"stages", results}},
                   2) +
           "\n";
  }
  return fmt::format("the recipe {} took {} and is in {}\n", recipe, long_duration(seconds),
                     out.string());
}

}  // namespace

Command recipe_command() {
  Command command{
      .name = "recipe",
      .summary = "run the commands of a recipe, such as a training and its evaluation",
      .options = {{.name = "recipe",
                   .unit = "NAME",
                   .help = fmt::format(
                       "the recipe: {}; or a TOML file with [[stage]] tables; it may be given "
                       "without --recipe",
                       fmt::join(preset_names(recipe_presets()), ", ")),
                   .stored = false,
                   .topic = Topic::kRun}},
      .run = run_recipe,
      .positional = {"recipe"}};
  const OptionTable evaluation = options_of<EvaluateSpec>();
  for (const std::string& name : kShared) {  // --seed is one of program_options()
    if (name != "seed") command.options.push_back(*find_option(evaluation, name));
  }
  command.options.push_back(
      out_option("directory of the recipe, with a folder for each stage (default: runs/NAME); the "
                 "same command goes on with what it holds"));
  return command;
}

}  // namespace isinglass
