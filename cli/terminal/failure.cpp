// See failure.h.
#include "cli/terminal/failure.h"

#include <c10/util/Exception.h>

#include <new>

#include "io/error.h"
#include "lab/run/assemble.h"

namespace isinglass {

Failure failure_of(std::exception_ptr exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Failed& failed) {
    return {failed.code, "error: ", failed.what()};
  } catch (const OptionError& error) {
    return {2, "error: ", error.sentence("--")};
  } catch (const Error& error) {
    return {2, "error: ", error.what()};
  } catch (const NumericalError& error) {
    return {3, "error: ", error.what()};
  } catch (const Interrupted& stop) {
    return {130, "interrupted: ", stop.what()};
  } catch (const std::bad_alloc&) {
    return {2, "error: ", "out of memory; a smaller size is needed"};
  } catch (const c10::Error& error) {
    return {1, "error: ", error.what_without_backtrace()};
  } catch (const std::exception& error) {
    return {1, "error: ", error.what()};
  }
}

}  // namespace isinglass
