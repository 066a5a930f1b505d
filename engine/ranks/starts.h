// The starts of a job, counted in its store. torchrun's agents keep the store while they restart the
// ranks, but each counts its own restarts alone, and not those that another agent began. So the first
// rank of a start numbers it, and calls up the others: each draws a ticket, and waits until its start
// is written on it. Who has ended reads no ticket.
#pragma once

#include <chrono>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace isinglass {

class Starts {
 public:
  explicit Starts(c10::intrusive_ptr<c10d::Store> store) : store_(std::move(store)) {}

  // By rank 0: the number of a new start; and what lets in whoever has come, to be called until all
  // have.
  int64_t begin();
  void call_up();

  // By every other rank: the start that it belongs to. Throws Error if rank 0 does not call in time.
  int64_t wait(std::chrono::seconds patience);

 private:
  c10::intrusive_ptr<c10d::Store> store_;
  int64_t number_ = 0, called_ = 0;
};

}  // namespace isinglass
