// Counts the starts of a job in its store. torchrun's agents keep the store while they restart the
// ranks, but each agent counts only its own restarts, and not those that another agent began.
// Therefore rank 0 numbers each start and calls the other ranks. Each of them draws a ticket, and
// waits until the number of its start is written on it. A process that has ended reads no ticket.
#pragma once

#include <chrono>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace isinglass {

class Rendezvous {
 public:
  explicit Rendezvous(c10::intrusive_ptr<c10d::Store> store) : store_(std::move(store)) {}

  // begin(), by rank 0, returns the number of a new start. call_up() writes the number on all
  // tickets drawn so far; rank 0 calls it until all ranks have come.
  int64_t begin();
  void call_up();

  // Called by every other rank: returns the start that it belongs to. Throws Error if rank 0 does
  // not call it in time.
  int64_t wait(std::chrono::seconds timeout);

 private:
  c10::intrusive_ptr<c10d::Store> store_;
  int64_t number_ = 0, called_ = 0;
};

}  // namespace isinglass
