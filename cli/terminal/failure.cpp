// Implements the translation of exceptions to exit codes and messages.
#include "cli/terminal/failure.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <new>

#include "engine/ranks/process_group.h"
#include "io/error.h"
#include "lab/run/assemble.h"

namespace isinglass {

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
    return {kNumericalFailure, kError, error.what()};
  } catch (const Interrupted& stop) {
    return {130, kInterrupted, stop.what()};
  } catch (const RankLost& lost) {
    return {1, kLost, fmt::format("another rank was lost: {}", lost.what())};
  } catch (const std::bad_alloc&) {
    return {2, kError, "out of memory; a smaller size is needed"};
  } catch (const c10::Error& error) {
    return {1, kError, error.what_without_backtrace()};
  } catch (const std::exception& error) {
    return {1, kError, error.what()};
  }
}

}  // namespace isinglass
