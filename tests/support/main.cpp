// The main of every test program. Its exit code tells the outcome of the tests:
//   0    all of them passed
//   1    one failed, or there was none to run
//   77   none failed and some were skipped, which ctest reports (SKIP_RETURN_CODE)
// GoogleTest's own main exits with 0 if tests were skipped or if the filter matches none.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

extern "C" [[gnu::weak]] void __lsan_do_leak_check();  // null without AddressSanitizer

namespace {

int exit_code() {
  const bool failed = RUN_ALL_TESTS() != 0;
  if (failed || GTEST_FLAG_GET(list_tests)) return failed;
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  if (tests.test_to_run_count() == 0) return 1;
  return tests.skipped_test_count() > 0 ? 77 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int code = exit_code();
  if (__lsan_do_leak_check) return code;  // the leak check runs at exit
  std::fflush(nullptr);
  std::_Exit(code);  // LibTorch's destructors take a tenth of a second
}
