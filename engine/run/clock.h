// A clock for runs.
#pragma once

#include "io/torch.h"

namespace isinglass {

// Its seconds, once the device's work is done.
double synchronised_seconds(torch::Device device);

}  // namespace isinglass
