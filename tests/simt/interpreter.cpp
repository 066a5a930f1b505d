// Implements the interpreter. Fibers are stacks that are made known to AddressSanitizer. On x86-64
// a few instructions switch between them: swapcontext() makes a system call, and its interceptor in
// AddressSanitizer marks a whole stack as valid each time, which takes most of the time of the
// tests.
#include "tests/simt/interpreter.h"

#include <pthread.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#if defined(__x86_64__)
// Pushes the registers that a function must keep, stores the stack pointer in *from, and returns to
// where the other stack was left.
extern "C" void simt_switch_stacks(void** from, void* to);
asm(R"(
  .text
  .globl simt_switch_stacks
  .type simt_switch_stacks, @function
simt_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size simt_switch_stacks, .-simt_switch_stacks
)");
#endif

// The linker's names for the ends of the section of __shared__ variables.
extern char __start_simt_shared, __stop_simt_shared;
extern char __executable_start, _end;  // and of the program

namespace simt {
namespace {

constexpr size_t kStack = 128 * 1024;
constexpr unsigned kWarp = 32;

enum class Life { kReady, kAtBlock, kAtWarp, kGone };

#if defined(__x86_64__)
struct Context {
  void* stack_pointer = nullptr;
};

void switch_to(Context& from, const Context& to) {
  simt_switch_stacks(&from.stack_pointer, to.stack_pointer);
}

// Makes a context that begins with a call of `begin`, which never returns.
void make_context(Context& context, char* stack, void (*begin)()) {
  constexpr uintptr_t kRegisters = 6;
  const uintptr_t top = reinterpret_cast<uintptr_t>(stack + kStack) & ~uintptr_t{15};
  auto* const words = reinterpret_cast<uintptr_t*>(top) - (kRegisters + 2);
  std::fill_n(words, kRegisters, uintptr_t{0});
  words[kRegisters] = reinterpret_cast<uintptr_t>(begin);
  words[kRegisters + 1] = 0;  // the return address of `begin`
  context.stack_pointer = words;
}
#else
using Context = ucontext_t;

void switch_to(Context& from, const Context& to) {
  swapcontext(&from, &to);
}

void make_context(Context& context, char* stack, void (*begin)()) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = kStack;
  context.uc_link = nullptr;
  makecontext(&context, begin, 0);
}
#endif

struct Fiber {
  Context context;
  std::unique_ptr<char[]> stack;
  void* sanitizer = nullptr;
  Life life = Life::kGone;
  unsigned mask = 0, source = 0;
  uint64_t value = 0, result = 0;
  unsigned votes = 0;
};

struct Machine {
  Schedule schedule;
  std::vector<Fiber> fibers;
  unsigned current = 0, threads = 0;
  Context scheduler;
  const void* scheduler_stack = nullptr;
  size_t scheduler_size = 0;
  void* scheduler_sanitizer = nullptr;
  const std::function<void()>* body = nullptr;
  std::unique_ptr<char[]> shared;
  size_t shared_bytes = 0;
  std::mt19937_64 random;
  Observer* observer = nullptr;
  const char *host_stack = nullptr, *host_stack_end = nullptr;
};

Machine machine;

void enter(Fiber& fiber) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&machine.scheduler_sanitizer, fiber.stack.get(), kStack);
#endif
  switch_to(machine.scheduler, fiber.context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(machine.scheduler_sanitizer, nullptr, nullptr);
#endif
}

// Returns to the scheduler. last: the fiber never runs again.
void leave(Fiber& fiber, bool last) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(last ? nullptr : &fiber.sanitizer, machine.scheduler_stack,
                                 machine.scheduler_size);
#endif
  switch_to(fiber.context, machine.scheduler);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fiber.sanitizer, &machine.scheduler_stack,
                                  &machine.scheduler_size);
#endif
}

void fiber_main() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &machine.scheduler_stack, &machine.scheduler_size);
#endif
  (*machine.body)();
  Fiber& fiber = machine.fibers[machine.current];
  fiber.life = Life::kGone;
  leave(fiber, /*last=*/true);
}

void prepare(Fiber& fiber) {
  if (!fiber.stack) fiber.stack = std::make_unique<char[]>(kStack);
#if defined(__SANITIZE_ADDRESS__)
  // A thread of a block that could not go on has left its functions' variables on the stack.
  if (fiber.life != Life::kGone) ASAN_UNPOISON_MEMORY_REGION(fiber.stack.get(), kStack);
#endif
  make_context(fiber.context, fiber.stack.get(), fiber_main);
  fiber.life = Life::kReady;
}

std::vector<unsigned> order_of(unsigned count) {
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0u);
  if (machine.schedule.order == Order::kBackwards) std::reverse(order.begin(), order.end());
  if (machine.schedule.order == Order::kShuffled) {
    std::shuffle(order.begin(), order.end(), machine.random);
  }
  return order;
}

// Returns how many threads of each warp can run.
std::vector<unsigned> ready_lanes() {
  std::vector<unsigned> ready((machine.threads + kWarp - 1) / kWarp);
  for (unsigned t = 0; t < machine.threads; ++t) {
    ready[t / kWarp] += machine.fibers[t].life == Life::kReady;
  }
  return ready;
}

// Runs every thread that can run up to its next meeting.
void run_ready() {
  std::vector<unsigned> ready = ready_lanes();
  for (const unsigned t : order_of(machine.threads)) {
    Fiber& fiber = machine.fibers[t];
    if (fiber.life != Life::kReady) continue;
    machine.current = t;
    threadIdx.x = t;
    if (machine.observer) machine.observer->run(t);
    enter(fiber);
    if (--ready[t / kWarp] == 0 && machine.observer) machine.observer->stop(t / kWarp);
  }
}

bool release_block() {
  bool waiting = false;
  for (unsigned t = 0; t < machine.threads; ++t) {
    const Life life = machine.fibers[t].life;
    if (life != Life::kAtBlock && life != Life::kGone) return false;
    waiting |= life == Life::kAtBlock;
  }
  for (unsigned t = 0; t < machine.threads; ++t) {
    Fiber& fiber = machine.fibers[t];
    if (fiber.life == Life::kAtBlock) fiber.life = Life::kReady;
  }
  if (waiting && machine.observer) machine.observer->meet_block();
  return waiting;
}

// The lanes named by the mask of a waiting lane are released once all of them that are alive wait
// with it.
bool release_lanes(unsigned first, unsigned mask) {
  unsigned present = 0, votes = 0;
  for (unsigned l = 0; l < kWarp; ++l) {
    if (!(mask >> l & 1) || first + l >= machine.threads) continue;
    const Fiber& fiber = machine.fibers[first + l];
    if (fiber.life == Life::kGone) continue;
    if (fiber.life != Life::kAtWarp || fiber.mask != mask) return false;
    present |= 1u << l;
    if (fiber.value != 0) votes |= 1u << l;
  }
  for (unsigned l = 0; l < kWarp; ++l) {
    if (!(present >> l & 1)) continue;
    Fiber& fiber = machine.fibers[first + l];
    const bool there = present >> fiber.source & 1;
    fiber.result = there ? machine.fibers[first + fiber.source].value : fiber.value;
    fiber.votes = votes;
  }
  for (unsigned l = 0; l < kWarp; ++l) {
    if (present >> l & 1) machine.fibers[first + l].life = Life::kReady;
  }
  if (machine.observer) machine.observer->meet_lanes(first / kWarp);
  return true;
}

bool release_warps() {
  bool released = false;
  for (unsigned t = 0; t < machine.threads; ++t) {
    const Fiber& fiber = machine.fibers[t];
    if (fiber.life == Life::kAtWarp) released |= release_lanes(t / kWarp * kWarp, fiber.mask);
  }
  return released;
}

bool all_gone() {
  return std::all_of(machine.fibers.begin(), machine.fibers.begin() + machine.threads,
                     [](const Fiber& fiber) { return fiber.life == Life::kGone; });
}

std::string describe_deadlock() {
  int block = 0, warp = 0, gone = 0;
  for (unsigned t = 0; t < machine.threads; ++t) {
    block += machine.fibers[t].life == Life::kAtBlock;
    warp += machine.fibers[t].life == Life::kAtWarp;
    gone += machine.fibers[t].life == Life::kGone;
  }
  return "block " + std::to_string(blockIdx.x) + " cannot go on: " + std::to_string(block) +
         " threads wait at a barrier of the block, " + std::to_string(warp) +
         " at an operation of a warp, " + std::to_string(gone) + " have ended";
}

void run_block() {
  for (unsigned t = 0; t < machine.threads; ++t) prepare(machine.fibers[t]);
  while (true) {
    run_ready();
    if (all_gone()) return;
    if (!release_warps() && !release_block()) throw Deadlock(describe_deadlock());
  }
}

uint64_t wait(Life life, unsigned mask, uint64_t value, unsigned source) {
  Fiber& fiber = machine.fibers[machine.current];
  fiber.life = life;
  fiber.mask = mask;
  fiber.value = value;
  fiber.source = source;
  leave(fiber, /*last=*/false);
  return fiber.result;
}

// Finds the stack of the thread that launches.
void find_host_stack() {
  pthread_attr_t attributes;
  void* begin = nullptr;
  size_t bytes = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &begin, &bytes);
  pthread_attr_destroy(&attributes);
  machine.host_stack = static_cast<const char*>(begin);
  machine.host_stack_end = machine.host_stack + bytes;
}

}  // namespace

void set_schedule(const Schedule& schedule) {
  machine.schedule = schedule;
  machine.random.seed(schedule.seed);
}

void set_observer(Observer* observer) {
  machine.observer = observer;
}

void run_grid(const Launch& launch, const std::function<void()>& thread) {
  machine.threads = machine.schedule.threads ? machine.schedule.threads : launch.threads;
  if (machine.fibers.size() < machine.threads) machine.fibers.resize(machine.threads);
  machine.body = &thread;
  machine.shared_bytes = launch.shared_bytes;
  blockDim.x = machine.threads;
  gridDim.x = launch.blocks;
  if (machine.observer) find_host_stack();
  if (machine.observer) machine.observer->begin_launch(launch);
  const unsigned first = std::min(machine.schedule.first_block, launch.blocks - 1);
  for (const unsigned b : order_of(launch.blocks)) {
    if (b < first) continue;
    blockIdx.x = b;
    machine.shared = std::make_unique<char[]>(launch.shared_bytes);
    std::memset(machine.shared.get(), machine.schedule.poison, launch.shared_bytes);
    std::memset(&__start_simt_shared, machine.schedule.poison, static_range().bytes);
    if (machine.observer) machine.observer->begin_block();
    run_block();
    if (machine.observer) machine.observer->end_block();
  }
  if (machine.observer) machine.observer->end_launch();
}

SharedRange dynamic_range() {
  return {machine.shared.get(), machine.shared_bytes};
}

SharedRange static_range() {
  return {&__start_simt_shared, static_cast<size_t>(&__stop_simt_shared - &__start_simt_shared)};
}

Space space_of(const void* address) {
  const auto* at = static_cast<const char*>(address);
  const auto within = [at](const char* begin, const char* end) { return at >= begin && at < end; };
  for (const SharedRange& range : {dynamic_range(), static_range()}) {
    if (within(range.begin, range.begin + range.bytes)) return Space::kShared;
  }
  const char* stack = machine.fibers[machine.current].stack.get();
  const bool none = within(stack, stack + kStack) || within(&__executable_start, &_end) ||
                    within(machine.host_stack, machine.host_stack_end);
  return none ? Space::kNone : Space::kGlobal;
}

void tell_atomic(const void* at) {
  if (machine.observer) machine.observer->atomic(at);
}

void* dynamic_shared() {
  return machine.shared.get();
}

uint64_t meet(Meeting meeting, unsigned mask, uint64_t value, unsigned source) {
  return wait(meeting == Meeting::kBlock ? Life::kAtBlock : Life::kAtWarp, mask, value, source);
}

unsigned vote(unsigned mask, bool value) {
  wait(Life::kAtWarp, mask, value, lane());
  return machine.fibers[machine.current].votes;
}

unsigned lane() {
  return threadIdx.x % kWarp;
}

}  // namespace simt
