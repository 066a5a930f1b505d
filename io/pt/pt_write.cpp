// Implements the writing of .pt files with LibTorch's pickler and archive writer.
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <algorithm>
#include <array>
#include <exception>

#include "io/error.h"
#include "io/files.h"
#include "io/pt/pt_file.h"
#include "io/pt/utf8.h"

namespace isinglass {
namespace {

// Lists the types that the reader in pt_file.h knows. Every PyTorch since 1.6 knows them, too.
constexpr std::array kTypes = {torch::kFloat, torch::kDouble, torch::kHalf,  torch::kBFloat16,
                               torch::kLong,  torch::kInt,    torch::kShort, torch::kChar,
                               torch::kByte,  torch::kBool};

// Returns a contiguous tensor that owns exactly its own storage, because the pickler writes whole
// storages.
torch::Tensor own_storage(const torch::Tensor& tensor) {
  require(tensor.defined() && tensor.layout() == torch::kStrided &&
              std::find(kTypes.begin(), kTypes.end(), tensor.scalar_type()) != kTypes.end(),
          "a .pt file can hold dense tensors of real, integer or bool type, but not {}",
          tensor.defined() ? tensor.toString() : "an undefined one");
  const torch::Tensor plain = tensor.detach().cpu().resolve_neg().contiguous();
  return plain.storage().nbytes() == plain.nbytes() ? plain : plain.clone();
}

c10::IValue to_ivalue(const PtValue& content);

struct IValueMaker {
  c10::IValue operator()(std::monostate) const { return {}; }
  c10::IValue operator()(const torch::Tensor& tensor) const { return own_storage(tensor); }
  c10::IValue operator()(const std::string& text) const {
    require(is_utf8(text), "a .pt file can hold text in UTF-8 only");
    return text;
  }
  c10::IValue operator()(const PtList& list) const {
    c10::impl::GenericList result(c10::AnyType::get());
    for (const PtValue& item : list) result.push_back(to_ivalue(item));
    return result;
  }
  c10::IValue operator()(const PtDict& dict) const {
    c10::impl::GenericDict result(c10::StringType::get(), c10::AnyType::get());
    for (const auto& [name, item] : dict)
      require(result.insert(name, to_ivalue(item)).second,
              "a dictionary in a .pt file cannot have the key {} twice", name);
    return result;
  }
  template <class Scalar>
  c10::IValue operator()(const Scalar& scalar) const {
    return scalar;
  }
};

c10::IValue to_ivalue(const PtValue& content) {
  return std::visit(IValueMaker(), content.value);
}

// Passes the archive's bytes on to the file. An exception must not leave the archive writer's
// callback (its destructor would write again and terminate the program), so the first one is kept
// until check().
class Sink {
 public:
  explicit Sink(AtomicFile& file) : file_(file) {}

  size_t write(const void* bytes, size_t count) {
    try {
      if (!error_) file_.write({static_cast<const char*>(bytes), count});
    } catch (const Error&) {
      error_ = std::current_exception();
    }
    return count;
  }

  void check() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  AtomicFile& file_;
  std::exception_ptr error_;
};

}  // namespace

void write_pt(const std::filesystem::path& file, const PtValue& value) {
  std::string pickle;
  torch::jit::Pickler pickler([&](const char* bytes, size_t count) { pickle.append(bytes, count); },
                              nullptr, nullptr, nullptr, nullptr, /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(to_ivalue(value));
  pickler.stop();

  AtomicFile out(file);
  Sink sink(out);
  caffe2::serialize::PyTorchStreamWriter writer(
      [&](const void* bytes, size_t count) { return sink.write(bytes, count); });
  writer.writeRecord("data.pkl", pickle.data(), pickle.size());
  writer.writeRecord("byteorder", "little", 6);
  for (size_t i = 0; i < pickler.tensorData().size(); ++i) {
    const torch::Tensor& tensor = pickler.tensorData()[i];
    writer.writeRecord("data/" + std::to_string(i), tensor.const_data_ptr(), tensor.nbytes());
    sink.check();
  }
  writer.writeEndOfFile();
  sink.check();
  out.commit();
}

void write_named_tensors(const std::filesystem::path& file, const NamedTensors& tensors) {
  PtDict dict;
  for (const auto& [name, tensor] : tensors) dict.emplace_back(name, PtValue{tensor});
  write_pt(file, PtValue{std::move(dict)});
}

}  // namespace isinglass
