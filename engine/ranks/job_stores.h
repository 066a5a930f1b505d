// The connections of a job to its store. A store's calls wait for each other, so that the thread which
// watches has one of its own.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace isinglass {

struct JobStores {
  c10::intrusive_ptr<c10d::Store> own, watching;
  c10::intrusive_ptr<c10d::Store> of_restarts;  // what a restarted job finds again
};

}  // namespace isinglass
