// The output of `isinglass sample --list`: the registries of samplers and models.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace isinglass {

nlohmann::ordered_json registry_json();
std::string registry_text();

}  // namespace isinglass
