// Implements the count of starts by tickets in the store.
#include "engine/ranks/starts.h"

#include <fmt/format.h>

#include "io/error.h"

namespace isinglass {
namespace {

std::string ticket(int64_t number) {
  return fmt::format("ticket/{}", number);
}

}  // namespace

int64_t Starts::begin() {
  number_ = store_->add("starts", 1) - 1;
  return number_;
}

void Starts::call_up() {
  for (const int64_t drawn = store_->add("tickets", 0); called_ < drawn; ++called_) {
    store_->set(ticket(called_), std::to_string(number_));
  }
}

int64_t Starts::wait(std::chrono::seconds patience) {
  const std::string own = ticket(store_->add("tickets", 1) - 1);
  try {
    store_->wait({own}, patience);
  } catch (const std::exception&) {
    fail("rank 0 has not started within {} s", patience.count());
  }
  const std::vector<uint8_t> start = store_->get(own);
  return std::stoll(std::string(start.begin(), start.end()));
}

}  // namespace isinglass
