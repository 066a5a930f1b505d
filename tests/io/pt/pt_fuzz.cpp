// No input may crash the reader or make it throw anything but Error. The test program replays and
// mutates the corpus through this function; libFuzzer explores further with (one command, from the
// repository's root, TORCH being the folder of the torch package):
//
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -DFMT_HEADER_ONLY -I.
//     -isystem $TORCH/include -isystem $TORCH/include/torch/csrc/api/include
//     io/{files,pickle_reader,pickle_values,pt_read,tensor_view,zip_directory}.cpp
//     tests/io/pt/pt_fuzz.cpp -lstdc++ -L$TORCH/lib -Wl,-rpath,$TORCH/lib -lc10 -ltorch_cpu -lz
//     -o pt_fuzz
//   ASAN_OPTIONS=detect_leaks=0 ./pt_fuzz -max_len=8192 NEW_FINDINGS tests/io/corpus
//
// (LibTorch's reader leaks its directory when it refuses an archive; hence no leak detection.)
#include <cstdint>
#include <cstring>

#include "io/error.h"
#include "io/pt/pickle_reader.h"
#include "io/pt/pt_file.h"

namespace isinglass {
namespace {

// Reads the last byte of every tensor, where a wrong view would leave its storage.
void touch(const PtValue& content) {
  if (content.is_tensor()) {
    const torch::Tensor& tensor = std::get<torch::Tensor>(content.value);
    if (tensor.numel() == 0) return;
    int64_t last = 0;
    for (int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
    const auto* data = static_cast<const volatile uint8_t*>(tensor.const_data_ptr());
    [[maybe_unused]] const uint8_t byte = data[(last + 1) * tensor.element_size() - 1];
  } else if (const auto* list = std::get_if<PtList>(&content.value)) {
    for (const PtValue& item : *list) touch(item);
  } else if (const auto* dict = std::get_if<PtDict>(&content.value)) {
    for (const auto& [name, item] : *dict) touch(item);
  }
}

c10::Storage some_storage(const std::string&) {
  return torch::zeros({64}, torch::kUInt8).storage();
}

}  // namespace
}  // namespace isinglass

// The bytes as a file, and as the pickle within one.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace isinglass;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    touch(read_pt_bytes(bytes, "input"));
  } catch (const Error&) {
  }
  try {
    touch(pickle::read(bytes, some_storage));
  } catch (const Error&) {
  }
  return 0;
}
