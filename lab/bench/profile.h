// A trace of a piece of work: every operator of LibTorch, and on a GPU every kernel, with its
// times.
#pragma once

#include <filesystem>
#include <functional>

#include "io/torch.h"

namespace isinglass {

// Does the work and writes its trace, JSON that chrome://tracing and ui.perfetto.dev open.
void write_profile(const std::filesystem::path& file, torch::Device device,
                   const std::function<void()>& work);

// Ends the program if there was a profile: the profiler's thread may still read its settings while
// the static objects of LibTorch are destroyed around it.
void exit_after_profile(int code);

}  // namespace isinglass
