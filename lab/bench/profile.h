// Traces a piece of work: every operator of LibTorch and, on a GPU, every kernel, with its times.
#pragma once

#include <filesystem>
#include <functional>

#include "io/torch.h"

namespace isinglass {

// Does the work and writes its trace as JSON, which chrome://tracing and ui.perfetto.dev open.
void write_profile(const std::filesystem::path& file, torch::Device device,
                   const std::function<void()>& work);

}  // namespace isinglass
