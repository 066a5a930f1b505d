#include "train/data/formats/numpy_pickle.h"

#include <charconv>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "io/error.h"
#include "io/files.h"
#include "train/data/formats/format.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

// What is on the unpickler's stack. A call is its callable, a name, before its arguments and, once it
// was built, its state.
struct Item {
  enum class Kind { kMark, kNone, kInteger, kText, kName, kItems, kCall } kind;
  int64_t integer = 0;
  std::string text = {};
  std::vector<Item> items = {};
};
using Kind = Item::Kind;

// An array's pickle has far fewer. Kept items are copied, with what they hold: a few lines could double
// a list again and again, or nest lists deeper than the stack.
constexpr int64_t kMostItems = 1000;

int64_t item_count(const Item& item) {
  int64_t count = 1;
  for (const Item& inner : item.items) count += item_count(inner);
  return count;
}

constexpr const char* kArray = "numpy.core.multiarray _reconstruct";
constexpr const char* kNames[] = {kArray, "numpy ndarray", "numpy dtype"};

// A machine for the opcodes that such an array takes.
class Unpickler {
 public:
  Unpickler(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {}

  Item run() {
    while (true) {
      demand(at_ < text_.size(), "it ends before its stop");
      const char opcode = text_[at_++];
      if (opcode == '.') return pop();
      step(opcode);
    }
  }

  void demand(bool good, std::string_view reason) const {
    require(good, "{} is no pickle of protocol 0 of an array of bytes: {}", file_, reason);
  }

 private:
  void step(char opcode) {
    switch (opcode) {
      case '(':
        return push({Kind::kMark});
      case 'N':
        return push({Kind::kNone});
      case 'I':
        return push({Kind::kInteger, integer(line())});
      case 'S':
        return push({Kind::kText, 0, unescaped(line())});
      case 'c':
        return push({Kind::kName, 0, name()});
      case 't':
      case 'l':
        return push({Kind::kItems, 0, {}, above_mark()});
      case 'R': {
        Item arguments = pop(), callable = pop();
        demand(callable.kind == Kind::kName, "it calls what is no name");
        return push({Kind::kCall, 0, callable.text, {std::move(arguments)}});
      }
      case 'b':
      case 'a': {
        Item value = pop();
        demand(
            !stack_.empty() && stack_.back().kind == (opcode == 'b' ? Kind::kCall : Kind::kItems),
            "it builds on what is neither array nor list");
        stack_.back().items.push_back(std::move(value));
        return;
      }
      case 'p':
        demand(!stack_.empty(), "it keeps what is not there");
        if (stack_.back().kind == Kind::kText) {
          line();  // the bytes of a large array, once
        } else {
          count(stack_.back());
          memo_[std::string(line())] = stack_.back();
        }
        return;
      case 'g': {
        const auto kept = memo_.find(std::string(line()));
        demand(kept != memo_.end(), "it asks for what it has not kept");
        return push(kept->second);
      }
      default:
        demand(false, fmt::format("its byte {} is no opcode of one", at_ - 1));
    }
  }

  void count(const Item& item) {
    items_ += item_count(item);
    demand(items_ <= kMostItems, "it holds too many values");
  }

  void push(Item item) {
    count(item);
    stack_.push_back(std::move(item));
  }

  Item pop() {
    demand(!stack_.empty() && stack_.back().kind != Kind::kMark, "its stack runs empty");
    Item top = std::move(stack_.back());
    stack_.pop_back();
    return top;
  }

  std::vector<Item> above_mark() {
    size_t mark = stack_.size();
    while (mark > 0 && stack_[mark - 1].kind != Kind::kMark) --mark;
    demand(mark > 0, "its stack runs empty");
    std::vector<Item> items(std::make_move_iterator(stack_.begin() + static_cast<int64_t>(mark)),
                            std::make_move_iterator(stack_.end()));
    stack_.resize(mark - 1, {Kind::kNone});
    return items;
  }

  std::string_view line() {
    const size_t end = text_.find('\n', at_);
    demand(end != std::string_view::npos, "it ends inside a line");
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end + 1;
    return found;
  }

  int64_t integer(std::string_view digits) const {
    int64_t value = 0;
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    demand(failed == std::errc() && end == digits.data() + digits.size(),
           "it has a damaged number");
    return value;
  }

  std::string name() {
    const std::string module(line()), full = module + " " + std::string(line());
    for (const char* known : kNames) {
      if (full == known) return full;
    }
    fail("{} is a pickle that names {}; only arrays of NumPy are read, and nothing is called",
         file_, full);
  }

  // Python's repr of bytes.
  std::string unescaped(std::string_view quoted) const {
    const bool closed = quoted.size() >= 2 && (quoted.front() == '\'' || quoted.front() == '"') &&
                        quoted.back() == quoted.front();
    demand(closed, "it has a string without quotes");
    std::string bytes;
    for (size_t i = 1; i + 1 < quoted.size(); ++i) {
      if (quoted[i] != '\\') {
        bytes += quoted[i];
        continue;
      }
      demand(i + 2 < quoted.size(), "it has a damaged string");
      constexpr std::string_view kShort = "\\'\"ntr", kMeant = "\\'\"\n\t\r";
      const char c = quoted[++i];
      if (const size_t k = kShort.find(c); k != std::string_view::npos) {
        bytes += kMeant[k];
        continue;
      }
      unsigned byte = 256;
      if (c == 'x' && i + 3 < quoted.size()) {
        const char* hex = quoted.data() + i + 1;
        if (std::from_chars(hex, hex + 2, byte, 16).ptr != hex + 2) byte = 256;
      }
      demand(byte < 256, "it has a damaged string");
      bytes += static_cast<char>(byte);
      i += 2;
    }
    return bytes;
  }

  std::string file_;
  std::string_view text_;
  size_t at_ = 0;
  int64_t items_ = 0;  // that were pushed or kept
  std::vector<Item> stack_;
  std::map<std::string, Item> memo_;
};

}  // namespace

torch::Tensor read_numpy_pickle(const std::filesystem::path& file) {
  const std::string text = read_maybe_gzip(file, kLargestDataFile);
  Unpickler pickle(file.string(), text);
  Item found = pickle.run();
  if (found.kind == Kind::kItems && found.items.size() == 1) {
    found = Item(std::move(found.items[0]));
  }
  // The state: a version, the shape, the type, whether the order is Fortran's, and the bytes.
  pickle.demand(found.kind == Kind::kCall && found.text == kArray && found.items.size() == 2 &&
                    found.items[1].items.size() == 5,
                "it holds no array");
  const std::vector<Item>& state = found.items[1].items;
  const auto& type = state[2].items;
  pickle.demand(!type.empty() && !type[0].items.empty() && type[0].items[0].text == "u1",
                "its array is of another type");
  pickle.demand(state[3].integer == 0, "its array is in the order of Fortran");
  std::vector<int64_t> shape;
  double elements = 1;  // exact up to 2^53, far above what a file can hold
  for (const Item& size : state[1].items) {
    pickle.demand(size.kind == Kind::kInteger && size.integer > 0, "its array has no shape");
    shape.push_back(size.integer);
    elements *= static_cast<double>(size.integer);
  }
  const std::string& bytes = state[4].text;
  pickle.demand(!shape.empty() && elements == static_cast<double>(bytes.size()),
                fmt::format("its array has {} bytes for {} elements", bytes.size(), elements));
  torch::Tensor values = torch::empty(shape, torch::kUInt8);
  std::memcpy(values.data_ptr<uint8_t>(), bytes.data(), bytes.size());
  return values;
}

std::vector<DataFormat> numpy_pickle_formats() {
  const auto recognises = [](const std::filesystem::path& file, const std::string&) {
    return is_named(file, ".pkl");
  };
  return {{"NumPy pickle", recognises, read_numpy_pickle}};
}

}  // namespace isinglass
