// Implements the restricted pickle machine as a stack machine with one function for each family of
// opcodes.
#include "io/pt/pickle_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "io/error.h"
#include "io/pt/pickle_values.h"
#include "io/pt/tensor_view.h"
#include "io/pt/utf8.h"

namespace isinglass::pickle {
namespace {

constexpr size_t kMaxName = 200;
constexpr size_t kMaxSize = 4 * kMaxValues;  // of objects, stack, marks and memo together

// clang-format off
// The opcodes of Python's pickletools that torch.save writes.
enum Opcode : uint8_t {
  kProto = 0x80, kFrame = 0x95, kStop = '.', kPop = '0', kPopMark = '1', kMark = '(',
  kNone = 'N', kTrue = 0x88, kFalse = 0x89, kInt8 = 'K', kInt16 = 'M', kInt32 = 'J', kLong = 0x8a,
  kFloat = 'G', kText8 = 0x8c, kText32 = 'X', kText64 = 0x8d,
  kEmptyTuple = ')', kTuple = 't', kTuple1 = 0x85, kTuple2 = 0x86, kTuple3 = 0x87,
  kEmptyList = ']', kAppend = 'a', kAppends = 'e', kEmptyDict = '}', kSetItem = 's',
  kSetItems = 'u',
  kGet8 = 'h', kGet32 = 'j', kPut8 = 'q', kPut32 = 'r', kMemoize = 0x94,
  kGlobal = 'c', kStackGlobal = 0x93, kReduce = 'R', kBuild = 'b', kPersistentId = 'Q',
};
// clang-format on

[[noreturn]] void damaged() {
  fail("has a truncated or damaged pickle");
}

template <class T>
T& as(Ref object) {
  T* value = std::get_if<T>(&object->value);
  if (!value) damaged();
  return *value;
}

// Returns true if the text contains only characters that Python and torch.save use in names.
// Messages show names, so that others must not pass.
bool is_name(std::string_view name) {
  constexpr std::string_view kCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return name.size() <= kMaxName && name.find_first_not_of(kCharacters) == name.npos;
}

class Machine {
 public:
  Machine(std::string_view pickle, const StorageLoader& load) : rest_(pickle), load_(load) {}

  Ref run() {
    for (;;) {
      const size_t size = arena_.size() + stack_.size() + marks_.size() + memo_.size();
      require(size <= kMaxSize, "has a pickle with more than {} values", kMaxSize);
      const auto op = number<uint8_t>();
      if (op == kStop) return pop();
      if (!scalar(op) && !container(op) && !memory(op) && !object(op))
        fail("uses the pickle opcode 0x{:02x}, which torch.save never writes", op);
    }
  }

 private:
  // ---- Bytes ----

  std::string_view bytes(uint64_t count) {
    if (count > rest_.size()) damaged();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  template <class T>
  T number() {
    static_assert(std::endian::native == std::endian::little);
    T value;
    std::memcpy(&value, bytes(sizeof(T)).data(), sizeof(T));
    return value;
  }

  double big_endian_double() {
    return std::bit_cast<double>(__builtin_bswap64(number<uint64_t>()));
  }

  // Reads a little-endian two's-complement number of any length up to eight bytes.
  int64_t long_number() {
    const std::string_view digits = bytes(number<uint8_t>());
    require(digits.size() <= 8, "holds an integer of more than 64 bits");
    uint64_t value = !digits.empty() && (digits.back() & 0x80) ? ~uint64_t{0} : 0;
    std::memcpy(&value, digits.data(), digits.size());
    return static_cast<int64_t>(value);
  }

  std::string text(uint64_t length) {
    const std::string_view characters = bytes(length);
    require(is_utf8(characters), "holds text that is not UTF-8");
    return std::string(characters);
  }

  std::string line() {
    const size_t end = rest_.find('\n');
    if (end > kMaxName) damaged();
    const std::string_view name = bytes(end + 1);
    return std::string(name.substr(0, end));
  }

  // ---- Stack ----

  void push(Value value) { stack_.push_back(&arena_.emplace_back(Object{std::move(value)})); }

  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  Ref top() {
    if (stack_.size() <= floor()) damaged();
    return stack_.back();
  }

  Ref pop() {
    const Ref object = top();
    stack_.pop_back();
    return object;
  }

  std::vector<Ref> pop_last(size_t count) {
    if (stack_.size() < floor() + count) damaged();
    std::vector<Ref> items(stack_.end() - count, stack_.end());
    stack_.resize(stack_.size() - count);
    return items;
  }

  std::vector<Ref> pop_to_mark() {
    if (marks_.empty()) damaged();
    std::vector<Ref> items = pop_last(stack_.size() - marks_.back());
    marks_.pop_back();
    return items;
  }

  // ---- Opcodes by family; the functions return false for opcodes of other families ----

  // clang-format off
  bool scalar(uint8_t op) {
    switch (op) {
      case kNone:   push(std::monostate()); return true;
      case kTrue:   push(true); return true;
      case kFalse:  push(false); return true;
      case kInt8:   push(int64_t{number<uint8_t>()}); return true;
      case kInt16:  push(int64_t{number<uint16_t>()}); return true;
      case kInt32:  push(int64_t{number<int32_t>()}); return true;
      case kLong:   push(long_number()); return true;
      case kFloat:  push(big_endian_double()); return true;
      case kText8:  push(text(number<uint8_t>())); return true;
      case kText32: push(text(number<uint32_t>())); return true;
      case kText64: push(text(number<uint64_t>())); return true;
      default:      return false;
    }
  }

  bool container(uint8_t op) {
    switch (op) {
      case kEmptyTuple: push(Tuple()); return true;
      case kTuple1:     push(Tuple{pop_last(1)}); return true;
      case kTuple2:     push(Tuple{pop_last(2)}); return true;
      case kTuple3:     push(Tuple{pop_last(3)}); return true;
      case kTuple:      push(Tuple{pop_to_mark()}); return true;
      case kEmptyList:  push(List()); return true;
      case kEmptyDict:  push(Dict()); return true;
      case kAppend:     append(pop_last(1)); return true;
      case kAppends:    append(pop_to_mark()); return true;
      case kSetItem:    set_items(pop_last(2)); return true;
      case kSetItems:   set_items(pop_to_mark()); return true;
      default:          return false;
    }
  }

  bool memory(uint8_t op) {
    switch (op) {
      case kGet8:    stack_.push_back(recall(number<uint8_t>())); return true;
      case kGet32:   stack_.push_back(recall(number<uint32_t>())); return true;
      case kPut8:    memo_[number<uint8_t>()] = top(); return true;
      case kPut32:   memo_[number<uint32_t>()] = top(); return true;
      case kMemoize: memo_[static_cast<uint32_t>(memo_.size())] = top(); return true;
      case kMark:    marks_.push_back(stack_.size()); return true;
      case kPop:     pop(); return true;
      case kPopMark: pop_to_mark(); return true;
      default:       return false;
    }
  }

  bool object(uint8_t op) {
    switch (op) {
      case kProto:        check_protocol(number<uint8_t>()); return true;
      case kFrame:        bytes(sizeof(uint64_t)); return true;  // skips the frame's length
      case kGlobal:       push_named_global(); return true;
      case kStackGlobal:  push_stack_global(); return true;
      case kReduce:       reduce(); return true;
      case kBuild:        build(); return true;
      case kPersistentId: push_storage(as<Tuple>(pop()).items); return true;
      default:            return false;
    }
  }
  // clang-format on

  void append(const std::vector<Ref>& more) {
    std::vector<Ref>& items = as<List>(top()).items;
    items.insert(items.end(), more.begin(), more.end());
  }

  void set_items(const std::vector<Ref>& more) {
    if (more.size() % 2 != 0) damaged();
    Dict& dict = as<Dict>(top());
    for (size_t i = 0; i < more.size(); i += 2) dict.items.emplace_back(more[i], more[i + 1]);
  }

  Ref recall(uint32_t index) const {
    const auto found = memo_.find(index);
    if (found == memo_.end()) damaged();
    return found->second;
  }

  void check_protocol(int protocol) {
    require(protocol >= 2 && protocol <= 5, "has pickle protocol {}; 2 to 5 can be read", protocol);
  }

  // ---- Globals and the operations on them ----

  void push_global(std::string name) {
    if (!is_name(name)) damaged();
    const bool known = name == "collections.OrderedDict" || storage_type(name) ||
                       name == "torch._utils._rebuild_tensor_v2" ||
                       name == "torch._utils._rebuild_parameter";
    require(known,
            "refers to {}, which is refused: only dictionaries, lists, numbers, text and dense "
            "tensors are read",
            name);
    push(Global{std::move(name)});
  }

  void push_named_global() {
    const std::string module = line();
    push_global(module + '.' + line());
  }

  void push_stack_global() {
    const std::vector<Ref> names = pop_last(2);
    const std::string &module = as<std::string>(names[0]), &name = as<std::string>(names[1]);
    if (!is_name(module) || !is_name(name)) damaged();
    push_global(module + '.' + name);
  }

  void reduce() {
    const std::vector<Ref>& arguments = as<Tuple>(pop()).items;
    const std::string& function = as<Global>(pop()).name;
    if (function == "collections.OrderedDict" && arguments.empty()) {
      push(Dict());
    } else if (function == "torch._utils._rebuild_tensor_v2" && arguments.size() == 6) {
      push(rebuild_tensor(arguments));
    } else if (function == "torch._utils._rebuild_parameter" && arguments.size() == 3) {
      push(as<torch::Tensor>(arguments[0]));
    } else {
      fail("calls {} with {} arguments, which torch.save never writes", function, arguments.size());
    }
  }

  // Discards the attributes of an OrderedDict. module.state_dict() has _metadata, which is not
  // needed.
  void build() {
    as<Dict>(pop());
    as<Dict>(top());
  }

  // Makes a tensor from (storage, offset, sizes, strides, requires_grad, backward_hooks).
  static torch::Tensor rebuild_tensor(const std::vector<Ref>& arguments) {
    const auto& [storage, type] = as<TypedStorage>(arguments[0]);
    return checked_view(storage, type, as<int64_t>(arguments[1]), integers(arguments[2]),
                        integers(arguments[3]));
  }

  static std::vector<int64_t> integers(Ref tuple) {
    std::vector<int64_t> values;
    for (const Ref item : as<Tuple>(tuple).items) values.push_back(as<int64_t>(item));
    return values;
  }

  // Loads a storage from ("storage", class, key, device, number of elements). Storages of all
  // devices are loaded to the CPU.
  void push_storage(const std::vector<Ref>& id) {
    if (id.size() != 5 || as<std::string>(id[0]) != "storage") damaged();
    const auto type = storage_type(as<Global>(id[1]).name);
    if (!type) damaged();
    const std::string& key = as<std::string>(id[2]);
    if (!is_name(key)) damaged();
    const c10::Storage& storage = load_once(key);
    const auto elements = static_cast<int64_t>(storage.nbytes() / torch::elementSize(*type));
    require(as<int64_t>(id[4]) == elements, "has {} elements in data/{}, but data.pkl gives {}",
            elements, key, as<int64_t>(id[4]));
    if (*type == torch::kBool) check_bools(key, storage);
    push(TypedStorage{storage, *type});
  }

  const c10::Storage& load_once(const std::string& key) {
    const auto found = storages_.find(key);
    return found != storages_.end() ? found->second
                                    : storages_.emplace(key, load_(key)).first->second;
  }

  // Throws Error if a byte of a bool is neither 0 nor 1, since other values are undefined behaviour
  // in C++.
  void check_bools(const std::string& key, const c10::Storage& storage) {
    if (!checked_bools_.insert(key).second) return;
    const auto* byte = static_cast<const uint8_t*>(storage.data());
    require(std::all_of(byte, byte + storage.nbytes(), [](uint8_t b) { return b <= 1; }),
            "has a bool other than 0 and 1 in data/{}", key);
  }

  std::string_view rest_;
  const StorageLoader& load_;
  std::deque<Object> arena_;  // its elements never move
  std::vector<Ref> stack_;
  std::vector<size_t> marks_;  // heights of the stack at the marks
  std::unordered_map<uint32_t, Ref> memo_;
  std::unordered_map<std::string, c10::Storage> storages_;
  std::unordered_set<std::string> checked_bools_;
};

}  // namespace

PtValue read(std::string_view pickle, const StorageLoader& load_storage) {
  require(pickle.size() <= kMaxBytes, "has a data.pkl of {} bytes; at most {} can be read",
          pickle.size(), kMaxBytes);
  Machine machine(pickle, load_storage);
  return to_plain_value(machine.run());
}

}  // namespace isinglass::pickle
