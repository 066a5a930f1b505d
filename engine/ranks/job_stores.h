// The connections of a job to its store. A store's calls wait for each other, so that the thread which
// watches has one of its own.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "engine/ranks/starts.h"

namespace isinglass {

struct JobStores {
  explicit JobStores(const c10::intrusive_ptr<c10d::Store>& all) : of_all(all), starts(all) {}

  c10::intrusive_ptr<c10d::Store> of_all;  // what a restarted job finds again
  Starts starts;
  c10::intrusive_ptr<c10d::Store> own, watching;  // of this start
};

}  // namespace isinglass
