// The connections of a job to its store. Calls on one connection wait for each other, so that the
// watching thread has a connection of its own.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "engine/ranks/rendezvous.h"

namespace isinglass {

struct JobStores {
  explicit JobStores(const c10::intrusive_ptr<c10d::Store>& all) : of_all(all), rendezvous(all) {}

  c10::intrusive_ptr<c10d::Store> of_all;  // keys that a restarted job finds again
  Rendezvous rendezvous;
  c10::intrusive_ptr<c10d::Store> own, watching;  // keys of this start
};

}  // namespace isinglass
