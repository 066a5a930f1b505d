// Implements the count of starts by tickets in the store.
#include "engine/ranks/rendezvous.h"

#include <fmt/format.h>

#include "io/error.h"

namespace isinglass {
namespace {

std::string ticket(int64_t number) {
  return fmt::format("ticket/{}", number);
}

}  // namespace

int64_t Rendezvous::begin() {
  number_ = store_->add("starts", 1) - 1;
  return number_;
}

void Rendezvous::call_up() {
  for (const int64_t drawn = store_->add("tickets", 0); called_ < drawn; ++called_) {
    store_->set(ticket(called_), std::to_string(number_));
  }
}

int64_t Rendezvous::wait(std::chrono::seconds timeout) {
  const std::string own = ticket(store_->add("tickets", 1) - 1);
  try {
    store_->wait({own}, timeout);
  } catch (const std::exception&) {
    fail("rank 0 has not started within {} s", timeout.count());
  }
  const std::vector<uint8_t> start = store_->get(own);
  return std::stoll(std::string(start.begin(), start.end()));
}

}  // namespace isinglass
