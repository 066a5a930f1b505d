// Entries of a grid's TOML: values of keys by their type, and options of sampling, training and
// evaluation, of which lists are swept. Every Error begins with `where`, the entry.
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/error.h"
#include "lab/spec/option.h"

namespace isinglass {

inline constexpr int64_t kMostCells = 100000;

// Throws Error for a key that is not known, with the known ones, the nearest first.
void check_keys(const toml::table& table, const std::string& where,
                const std::vector<std::string>& known);

// The value of a key, `words` ("a text"); none if the key is not there.
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

// A text or a list of them; none if the key is not there.
std::vector<std::string> text_list(const toml::table& table, const std::string& key,
                                   const std::string& where);

// Null if the key is not there.
const toml::table* table_of(const toml::table& table, const std::string& key,
                            const std::string& where);

// The entry itself or, at scales below its `small.below`, the table `small`: a smaller target, which
// stands for the one with the entry's label.
struct ScaledEntry {
  const toml::table& table;
  std::string stands_for = {};
};

ScaledEntry at_scale(const toml::table& entry, double scale, const std::string& where);

// The tables [[key]], at least one.
const toml::array& entries(const toml::table& grid, const std::string& key,
                           const std::string& name);

// Runs `check`; its Error then begins with `where`.
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

// The options of an entry of `who` ("sample", "train", "evaluate").
struct EntryOptions {
  OptionTable table;
  std::string who;
};

const EntryOptions& sample_options();  // with the grid's own
const EntryOptions& train_options();
const EntryOptions& evaluate_options();

// All combinations of the table's lists, the last key fastest; `others` are no options. Relative
// paths start at the folder.
std::vector<OptionValues> combinations(const toml::table& table, const EntryOptions& options,
                                       const std::string& where,
                                       const std::filesystem::path& folder,
                                       const std::vector<std::string>& others = {});

}  // namespace isinglass
