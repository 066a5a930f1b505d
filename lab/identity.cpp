// Implements the program's revision and the hashes of files.
#include "lab/identity.h"

#include "io/beside.h"
#include "io/error.h"
#include "io/files.h"
#include "io/sha256.h"
#include "models/parameter_file.h"

namespace isinglass {

const std::string& program_revision() {
  static const std::string revision = [] {
    std::string source = kSourceRevision;
    if (!source.ends_with("dirty") && source != "unknown") return source;
    return source + "-" + sha256(read_file(own_file())).substr(0, 12);
  }();
  return revision;
}

nlohmann::ordered_json sampler_options_json(const Sampler& sampler) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, setting] : sampler.settings()) {
    std::visit(
        [&, &key = name](const auto& value) {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
            json[key] = value;
          }
        },
        setting.value);
  }
  return json;
}

std::string file_sha256(const std::filesystem::path& file) {
  NamedTensors tensors;
  try {
    tensors = read_parameters(file);
  } catch (const Error&) {  // It is not a parameter file.
    return sha256(read_file(file));
  }
  return sha256(std::move(tensors));
}

}  // namespace isinglass
