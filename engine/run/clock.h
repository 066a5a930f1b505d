// A clock for timing runs.
#pragma once

#include "io/torch.h"

namespace isinglass {

// Returns the time of a steady clock in seconds, after the device has finished its work.
double synchronised_seconds(torch::Device device);

}  // namespace isinglass
