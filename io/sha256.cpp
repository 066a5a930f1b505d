// Implements the hashes of bytes and of named tensors.
#include "io/sha256.h"

#include <fmt/ranges.h>
#include <nettle/sha2.h>

#include <algorithm>
#include <array>
#include <map>

namespace isinglass {
namespace {

class Hash {
 public:
  Hash() { sha256_init(&context_); }

  void add(std::string_view bytes) {
    sha256_update(&context_, bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
  }

  std::string hex() {
    std::array<uint8_t, SHA256_DIGEST_SIZE> digest;
    sha256_digest(&context_, digest.size(), digest.data());
    return fmt::format("{:02x}", fmt::join(digest, ""));
  }

 private:
  sha256_ctx context_;
};

}  // namespace

std::string sha256(std::string_view bytes) {
  Hash hash;
  hash.add(bytes);
  return hash.hex();
}

std::string sha256(NamedTensors tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  Hash hash;
  for (const auto& [name, tensor] : tensors) {
    hash.add(fmt::format("{}{}{}{}{}{}", name, '\0', dtype_name(tensor.scalar_type()), '\0',
                         fmt::join(tensor.sizes(), ","), '\0'));
    const torch::Tensor t = tensor.detach().to(torch::kCPU).contiguous();
    hash.add({static_cast<const char*>(t.const_data_ptr()), t.nbytes()});
  }
  return hash.hex();
}

std::string dtype_name(torch::ScalarType type) {
  const std::string name = c10::toString(type);
  static const std::map<std::string, std::string> names = {
      {"Byte", "uint8"}, {"Char", "int8"},        {"Short", "int16"},   {"Int", "int32"},
      {"Long", "int64"}, {"Half", "float16"},     {"Float", "float32"}, {"Double", "float64"},
      {"Bool", "bool"},  {"BFloat16", "bfloat16"}};
  const auto known = names.find(name);
  return known == names.end() ? name : known->second;
}

}  // namespace isinglass
