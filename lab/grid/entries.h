// Reads the entries of a grid's TOML: values of keys by type, and options of sampling, training and
// evaluation, whose lists are swept. Changes these options by the scale. Every Error begins with
// `where`, the entry.
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/error.h"
#include "lab/grid/grid.h"
#include "lab/spec/option.h"
#include "lab/spec/spec.h"

namespace isinglass {

inline constexpr int64_t kMostCells = 100000;

// Throws Error for an unknown key, listing the known ones, the nearest first.
void check_keys(const toml::table& table, const std::string& where,
                const std::vector<std::string>& known);

// Returns the value of a key, or nothing if the key does not exist. `words` names the expected type
// in errors ("a string").
template <class T>
std::optional<T> value_of(const toml::table& table, const std::string& key,
                          const std::string& where, const char* words) {
  const toml::node* node = table.get(key);
  const auto value = node ? node->value<T>() : std::nullopt;
  require(!node || value.has_value(), "{}: {} must be {}", where, key, words);
  return value;
}

std::optional<std::string> text_of(const toml::table& table, const std::string& key,
                                   const std::string& where);

// Returns a string or a list of strings as a list, which is empty if the key does not exist.
std::vector<std::string> text_list(const toml::table& table, const std::string& key,
                                   const std::string& where);

// Returns null if the key does not exist.
const toml::table* table_of(const toml::table& table, const std::string& key,
                            const std::string& where);

// Holds the entry itself or, at scales below its `small.below`, the table `small`: a smaller target
// that replaces the one with the entry's label.
struct ScaledEntry {
  const toml::table& table;
  std::string stands_for = {};
};

ScaledEntry at_scale(const toml::table& entry, double scale, const std::string& where);

// Returns the tables [[key]]. Throws Error unless there is at least one.
const toml::array& entries(const toml::table& grid, const std::string& key,
                           const std::string& name);

// Runs `check` and prefixes its Error with `where`.
template <class Check>
auto told_where(const std::string& where, Check check) {
  try {
    return check();
  } catch (const OptionError& error) {
    fail_options("{}: {}", where, error.sentence("`", "`"));
  } catch (const Error& error) {
    fail("{}: {}", where, error.what());
  }
}

// Holds the options of the command `who` ("sample", "train", "evaluate").
struct EntryOptions {
  OptionTable table;
  std::string who;
};

const EntryOptions& sample_options();  // They include the grid's own options.
const EntryOptions& train_options();
const EntryOptions& evaluate_options();

// Returns all combinations of the table's lists, the last key varying fastest. The keys in `others`
// are not options. Relative paths start at the folder.
std::vector<OptionValues> combinations(const toml::table& table, const EntryOptions& options,
                                       const std::string& where,
                                       const std::filesystem::path& folder,
                                       const std::vector<std::string>& others = {});

// Inserts the values of `more`, which replace existing ones of the same name.
void override_values(OptionValues& values, const OptionValues& more);

// Returns the text of a value, or `otherwise` if there is none.
std::string text_or(const OptionValues& values, const std::string& name,
                    const std::string& otherwise);

// Multiplies the options that have a rule by scale^exponent. A whole number is rounded; scaling
// down brings it neither below the rule's `least` nor above its own value. Chains stay whole
// groups.
void scale_options(const std::vector<ScaleRule>& rules, double scale, OptionValues& values,
                   int64_t group = 1);

// Returns the rules of cells that sample and of their trained models: the numbers of chains, steps,
// calls and iterations follow the square root of the scale, except for the `fixed` options.
std::vector<ScaleRule> sampling_rules(const std::vector<std::string>& fixed = {});

// Replaces `calls` by `steps`, dividing by the sampler's leapfrog steps per step. Returns the
// calls, or 0 without any.
int64_t divide_calls(OptionValues& values);

}  // namespace isinglass
