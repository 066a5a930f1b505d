// Implements the translation of exceptions to exit codes and messages.
#include "cli/terminal/failure.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <cstdlib>
#include <new>
#include <string_view>

#include "engine/ranks/process_group.h"
#include "io/error.h"
#include "lab/run/assemble.h"
#include "lab/run/memory.h"

namespace isinglass {
namespace {

// Returns a sentence for LibTorch's message that memory of the machine could not be allocated;
// empty for other messages.
std::string out_of_memory(const std::string& message) {
  constexpr std::string_view kAsked = "you tried to allocate ";
  const size_t at = message.find(kAsked);
  if (at == std::string::npos) return "";
  const double bytes = std::strtod(message.c_str() + at + kAsked.size(), nullptr);
  return fmt::format(
      "out of memory: {:.1f} GiB are needed at once, but only {:.1f} GiB are available; a smaller "
      "size is needed",
      bytes / kGibibyte, available_memory(torch::kCPU) / kGibibyte);
}

}  // namespace

Failure failure_of(std::exception_ptr exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Failed& failed) {
    return {failed.code, kError, failed.what()};
  } catch (const OptionError& error) {
    return {2, kError, error.sentence("--")};
  } catch (const Error& error) {
    return {2, kError, error.what()};
  } catch (const NumericalError& error) {
    return {kNumericalFailure, kError, spell_options(error.what(), "--")};
  } catch (const Interrupted& stop) {
    return {130, kInterrupted, stop.what()};
  } catch (const RankLost& lost) {
    return {1, kLost, fmt::format("another rank was lost: {}", lost.what())};
  } catch (const std::bad_alloc&) {
    return {2, kError, "out of memory; a smaller size is needed"};
  } catch (const c10::Error& error) {
    if (const std::string sentence = out_of_memory(error.msg()); !sentence.empty()) {
      return {2, kError, sentence};
    }
    return {1, kError, error.what_without_backtrace()};
  } catch (const std::exception& error) {
    return {1, kError, error.what()};
  }
}

}  // namespace isinglass
