// Implements the reader of pickles, a stack machine for the opcodes of plain values.
#include "train/data/formats/pickle.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "io/files.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

// The largest number of values. Nine thousand arrays, each with its shape, use a fifth of it.
constexpr size_t kMostValues = 1000000;
// The largest number of values that are read again from the memo; Python does so about ten times
// per array.
constexpr size_t kMostTaken = 4 * kMostValues;

}  // namespace

// The stack machine of the unpickler. A mark on the stack is a null pointer.
class Pickle::Machine {
 public:
  Machine(Pickle& pickle, std::string_view bytes) : pickle_(pickle), bytes_(bytes) {}

  const PickleValue* run() {
    while (true) {
      const char opcode = take(1)[0];
      if (opcode == '.') return pop();
      step(opcode);
    }
  }

 private:
  void step(char opcode) {
    switch (opcode) {
      case '\x80':
        return demand(number(1) <= 5, "its pickle protocol is above 5");
      case '\x95':  // a frame; its length is not needed
        take(8);
        return;
      case '(':
        demand(++marks_ <= kMostValues, "it holds too many values");
        return stack_.push_back(nullptr);
      case '0':
        pop();
        return;
      case 'N':
        return push({Kind::kNone});
      case '\x88':
      case '\x89':
        return push({Kind::kInteger, opcode == '\x88'});
      case 'I':
      case 'L':
        return push({Kind::kInteger, integer(line())});
      case 'K':
        return push({Kind::kInteger, number(1)});
      case 'M':
        return push({Kind::kInteger, number(2)});
      case 'J':
        return push({Kind::kInteger, static_cast<int32_t>(number(4))});
      case '\x8a':
        return push({Kind::kInteger, long_integer()});
      case 'G':
        take(8);
        return push({Kind::kReal});
      case 'F':
        line();
        return push({Kind::kReal});
      case 'S':
        return push({Kind::kText, 0, unescaped(line())});
      case 'V':
        return push({Kind::kText, 0, raw_unicode(line())});
      case 'U':
      case 'C':
      case '\x8c':
        return push({Kind::kText, 0, std::string(take(number(1)))});
      case 'T':
      case 'B':
      case 'X':
        return push({Kind::kText, 0, std::string(take(number(4)))});
      case '\x8d':
      case '\x8e':
      case '\x96':
        return push({Kind::kText, 0, std::string(take(number(8)))});
      case 'c': {
        const std::string_view module = line();
        return push({Kind::kName, 0, name(module, line())});
      }
      case '\x93': {
        const PickleValue *word = pop(), *module = pop();
        demand(word->kind == Kind::kText && module->kind == Kind::kText, "it has a damaged name");
        return push({Kind::kName, 0, name(module->text, word->text)});
      }
      case ']':
      case ')':
        return push({Kind::kItems});
      case '}':
        return push({Kind::kPairs});
      case 't':
      case 'l':
        return push({Kind::kItems, 0, {}, above_mark()});
      case 'd':
        return push({Kind::kPairs, 0, {}, above_mark()});
      case '\x85':
      case '\x86':
      case '\x87':
        return push({Kind::kItems, 0, {}, popped(static_cast<uint8_t>(opcode) - 0x84)});
      case 'R': {
        const PickleValue *arguments = pop(), *callable = pop();
        demand(callable->kind == Kind::kName, "it calls a value that is not a named function");
        return push({Kind::kObject, 0, callable->text, {arguments}});
      }
      case 'b':
        return add(Kind::kObject, popped(1));
      case 'a':
        return add(Kind::kItems, popped(1));
      case 'e':
        return add(Kind::kItems, above_mark());
      case 's':
        return add(Kind::kPairs, popped(2));
      case 'u':
        return add(Kind::kPairs, above_mark());
      case 'p':
        return keep(integer(line()));
      case 'q':
        return keep(number(1));
      case 'r':
        return keep(number(4));
      case '\x94':
        return keep(static_cast<int64_t>(kept_.size()));
      case 'g':
        return push_kept(integer(line()));
      case 'h':
        return push_kept(number(1));
      case 'j':
        return push_kept(number(4));
      default:
        demand(false, fmt::format("its byte {} is not a known opcode", at_ - 1));
    }
  }

  void demand(bool good, std::string_view reason) const { pickle_.demand(good, reason); }

  void push(PickleValue value) {
    demand(value.kind != Kind::kPairs || value.items.size() % 2 == 0,
           "it has a key without a value");
    demand(pickle_.values_.size() < kMostValues, "it holds too many values");
    stack_.push_back(&pickle_.values_.emplace_back(std::move(value)));
  }

  PickleValue* pop() {
    demand(!stack_.empty() && stack_.back(), "it takes a value from an empty stack");
    PickleValue* top = stack_.back();
    stack_.pop_back();
    return top;
  }

  std::vector<const PickleValue*> popped(int64_t count) {
    std::vector<const PickleValue*> items(static_cast<size_t>(count));
    for (auto item = items.rbegin(); item != items.rend(); ++item) *item = pop();
    return items;
  }

  std::vector<const PickleValue*> above_mark() {
    const auto mark = std::find(stack_.rbegin(), stack_.rend(), nullptr);
    demand(mark != stack_.rend(), "it takes a value from an empty stack");
    const std::vector<const PickleValue*> items(mark.base(), stack_.end());
    stack_.erase(mark.base() - 1, stack_.end());
    return items;
  }

  // Adds items to the list, dictionary or object on top of the stack, and thereby everywhere else
  // it is held.
  void add(Kind kind, const std::vector<const PickleValue*>& items) {
    const bool fits = !stack_.empty() && stack_.back() && stack_.back()->kind == kind;
    demand(fits, "it adds items to a value that is not a list, dictionary or object");
    demand(kind != Kind::kPairs || items.size() % 2 == 0, "it has a key without a value");
    std::vector<const PickleValue*>& held = stack_.back()->items;
    held.insert(held.end(), items.begin(), items.end());
  }

  void keep(int64_t key) {
    demand(!stack_.empty() && stack_.back(), "it stores a value from an empty stack");
    demand(kept_.size() < kMostValues, "it holds too many values");
    kept_[key] = stack_.back();
  }

  void push_kept(int64_t key) {
    const auto kept = kept_.find(key);
    demand(kept != kept_.end(), "it reads a value that it has not stored");
    demand(++taken_ <= kMostTaken, "it reads its stored values too many times");
    stack_.push_back(kept->second);
  }

  std::string_view take(int64_t count) {
    demand(static_cast<size_t>(count) <= bytes_.size() - at_, "it ends before its STOP opcode");
    at_ += static_cast<size_t>(count);
    return bytes_.substr(at_ - static_cast<size_t>(count), static_cast<size_t>(count));
  }

  // Reads a number of `count` bytes, lowest byte first.
  int64_t number(int count) {
    int64_t value = 0;
    const std::string_view bytes = take(count);
    for (int i = 0; i < count; ++i) value |= int64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
    return value;
  }

  // Reads a length and then a number of as many bytes; the last byte has the sign.
  int64_t long_integer() {
    const int64_t length = number(1);
    demand(length <= 8, "it has a number of more than 64 bits");
    if (length == 0) return 0;
    const int unused = static_cast<int>(64 - 8 * length);
    const auto value = static_cast<uint64_t>(number(static_cast<int>(length)));
    return static_cast<int64_t>(value << unused) >> unused;
  }

  std::string_view line() {
    const size_t end = bytes_.find('\n', at_);
    demand(end != std::string_view::npos, "it ends inside a line");
    const std::string_view found = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return found;
  }

  int64_t integer(std::string_view digits) const {
    if (digits.ends_with('L')) digits.remove_suffix(1);
    int64_t value = 0;
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    demand(failed == std::errc() && end == digits.data() + digits.size(),
           "it has a damaged number");
    return value;
  }

  std::string name(std::string_view module, std::string_view word) const {
    const std::string full = fmt::format("{} {}", module, word);
    const auto& names = pickle_.names_;
    require(std::find(names.begin(), names.end(), full) != names.end(),
            "{} is a pickle that names {}; only {} are read, and nothing is called", pickle_.file_,
            full, pickle_.content_);
    return full;
  }

  // Converts Python's raw-unicode-escape, which is Latin-1 except for \\uXXXX, to UTF-8.
  std::string raw_unicode(std::string_view raw) const {
    std::string text;
    for (size_t i = 0; i < raw.size(); ++i) {
      unsigned code = static_cast<uint8_t>(raw[i]);
      if (raw.substr(i).starts_with("\\u")) {
        demand(i + 6 <= raw.size(), "it has a damaged string");
        const char* hex = raw.data() + i + 2;
        demand(std::from_chars(hex, hex + 4, code, 16).ptr == hex + 4, "it has a damaged string");
        i += 5;
      }
      demand(code < 0x800, "it has a string with characters outside Latin-1");
      if (code >= 0x80) text += static_cast<char>(0xc0 | code >> 6);
      text += static_cast<char>(code < 0x80 ? code : 0x80 | (code & 0x3f));
    }
    return text;
  }

  // Converts Python's repr of bytes to the bytes.
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

  Pickle& pickle_;
  std::string_view bytes_;
  size_t at_ = 0;
  size_t taken_ = 0, marks_ = 0;
  std::vector<PickleValue*> stack_;
  std::map<int64_t, PickleValue*> kept_;
};

Pickle::Pickle(const std::filesystem::path& file, std::string content,
               std::vector<std::string> names)
    : file_(file.string()), content_(std::move(content)), names_(std::move(names)) {
  const std::string bytes = read_maybe_gzip(file, kLargestDataFile);
  size_ = bytes.size();
  value_ = Machine(*this, bytes).run();
}

void Pickle::demand(bool good, std::string_view reason) const {
  require(good, "{} is not a pickle of {}: {}", file_, content_, reason);
}

}  // namespace isinglass
