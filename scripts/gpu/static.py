"""Reports the resources of every kernel, read from the machine code: registers, local memory,
shared memory, 128-bit loads, float64 instructions in loops, and the resulting occupancy. No GPU is
needed.

Usage: static.py check --budgets FILE BINARY
           fails if a kernel exceeds its budget (takes seconds)
       static.py page --budgets FILE --launches FILE --title TEXT BINARY…
           prints docs/results/gpu-static.md

BINARY is a library or program that contains CUDA code, or a cubin. `cuobjdump` (and for the page
`nvdisasm`) must be on the PATH. --launches is predictions.json of model.py, which has the threads
and the shared memory with which the kernels of the predicted steps are launched; the page gives no
occupancy for other kernels.

Local memory is a thread's stack in the GPU's memory. It holds registers that the compiler spills,
arrays, and structures whose address is taken. If the stack has 0 bytes, nothing is spilled.

Occupancy is the number of resident warps of a multiprocessor over its maximum. It is the smallest
number that threads, blocks, registers (allocated to warps in units of 256) and shared memory allow
(CUDA C++ Programming Guide, "Compute Capabilities", table "Technical Specifications per Compute
Capability"; the CUDA Occupancy Calculator's formula).
"""
import argparse
import json
import math
import re
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

REGISTERS, REGISTER_UNIT, WARP = 65536, 256, 32  # the same for every multiprocessor since 7.0


@dataclass(frozen=True)
class Multiprocessor:
    warps: int
    blocks: int
    shared: int  # bytes
    shared_block: int  # maximum for a block
    shared_reserved: int  # reserved in every block by the system
    shared_unit: int


# These numbers are from the table of the Programming Guide named above.
MULTIPROCESSORS = {
    "7.0": Multiprocessor(64, 32, 96 << 10, 96 << 10, 0, 256),
    "7.5": Multiprocessor(32, 16, 64 << 10, 64 << 10, 0, 256),
    "8.0": Multiprocessor(64, 32, 164 << 10, 163 << 10, 1 << 10, 128),
    "9.0": Multiprocessor(64, 32, 228 << 10, 227 << 10, 1 << 10, 128),
}

# Matches arithmetic, comparisons and conversions of float64, and the first instructions of its
# divisions and roots.
FLOAT64 = re.compile(r"^(D(ADD|MUL|FMA|SETP|MNMX|SET)|MUFU\.\w*64H|F2F\.\w*\.?F64|I2F\.\w*\.?F64|"
                     r"F2I\.\w*\.?F64|F2F\.F64|I2F\.F64|F2I\.F64)")
WIDE_LOAD = re.compile(r"^LD[GSL]?\.\S*\b128\b")
LOCAL = re.compile(r"^(LDL|STL)")
INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*?);")
TARGET = re.compile(r"0x([0-9a-f]+)")


@dataclass(frozen=True)
class Resources:
    registers: int
    stack: int
    shared: int
    bound: int | None  # maximum number of threads of a block, by __launch_bounds__


def die(message):
    sys.exit(f"isinglass: error: {message}")


def run(*command):
    if not shutil.which(command[0]):
        print(f"isinglass: {command[0]} is missing: it is in the wheel nvidia-cuda-{command[0]}",
              file=sys.stderr)
        sys.exit(77)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        die(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def short_names(mangled):
    """Returns names as in the sources, without namespaces and parameters, but with template
    arguments."""
    plain = run("c++filt", *mangled)
    names = {}
    for symbol, name in zip(mangled, plain.splitlines(), strict=True):
        name = re.sub(r"\(anonymous namespace\)::|^void |isinglass::|cuda::", "", name)
        # An enumerator that is an argument has its type before it.
        name = re.sub(r"\((?:\w|::)+\)(?=-?\d)", "", name)
        names[symbol] = re.sub(r"\(.*", "", name)
    if len(set(names.values())) < len(names):  # with equal names one would hide the other
        die(f"kernels of one name: {sorted(names.values())}")
    return names


def architecture_of(line):
    match = re.match(r"(?:arch = |\s*code for )sm_(\d+)(\d)a?$", line)
    return f"{match[1]}.{match[2]}" if match else None


def cubin_architecture(binary):
    """Returns the architecture of a cubin, from the lowest byte of the flags in its header; None
    for other files."""
    if Path(binary).suffix != ".cubin":
        return None
    number = Path(binary).read_bytes()[48]
    return f"{number // 10}.{number % 10}"


def launch_bounds(binary):
    """Returns {(architecture, symbol): threads} for the kernels that have launch bounds."""
    found, architecture, symbol, attribute = {}, cubin_architecture(binary), None, None
    for line in run("cuobjdump", "--dump-elf", str(binary)).splitlines():
        architecture = architecture_of(line) or architecture
        if match := re.match(r"\.nv\.info\.(\S+)", line):
            symbol = match[1]
        elif match := re.match(r"\s*Attribute:\s*(\w+)", line):
            attribute = match[1]
        elif (attribute == "EIATTR_MAX_THREADS" and
              (match := re.match(r"\s*Value:((?:\s+0x[0-9a-f]+){3})", line))):
            found[architecture, symbol] = math.prod(int(n, 16) for n in match[1].split())
    return found


def resources(binary):
    """Returns {architecture: {kernel: Resources}}."""
    bounds = launch_bounds(binary)
    found, architecture, function = defaultdict(dict), cubin_architecture(binary), None
    for line in run("cuobjdump", "--dump-resource-usage", str(binary)).splitlines():
        architecture = architecture_of(line) or architecture
        if match := re.match(r"\s*Function (\S+):", line):
            function = match[1]
        elif match := re.match(r"\s*REG:(\d+) STACK:(\d+) SHARED:(\d+)", line):
            reserved = MULTIPROCESSORS[architecture].shared_reserved if architecture == "9.0" else 0
            shared = max(0, int(match[3]) - reserved)
            found[architecture][function] = Resources(int(match[1]), int(match[2]), shared,
                                                      bounds.get((architecture, function)))
    if not found:
        die(f"{binary} has no kernels in it")
    return {a: {short: kernels[symbol] for symbol, short in short_names(list(kernels)).items()}
            for a, kernels in found.items()}


def loops(instructions):
    """Returns the loops, as intervals of addresses that end with a backward branch."""
    found = []
    for address, name, rest in instructions:
        if (name.startswith(("BRA", "JMP")) and (target := TARGET.search(rest)) and
                int(target[1], 16) < address):
            found.append((int(target[1], 16), address))
    return found


FACTS = ("instructions", "wide_loads", "float64_in_loops", "local_in_loops")


def code_facts(instructions):
    inside = loops(instructions)

    def in_loop(address):
        return any(first <= address <= last for first, last in inside)

    facts = dict.fromkeys(FACTS, 0)
    for address, name, _ in instructions:
        facts["instructions"] += name != "NOP"
        facts["wide_loads"] += bool(WIDE_LOAD.match(name))
        facts["float64_in_loops"] += bool(FLOAT64.match(name)) and in_loop(address)
        facts["local_in_loops"] += bool(LOCAL.match(name)) and in_loop(address)
    return facts


def code(binary):
    """Returns {architecture: {kernel: facts}} by disassembly; without 7.0, which nvdisasm 13 does
    not read."""
    if cubin_architecture(binary) == "7.0":
        return {}
    listing, architecture, function = defaultdict(dict), cubin_architecture(binary), None
    for line in run("cuobjdump", "-sass", str(binary)).splitlines():
        architecture = architecture_of(line) or architecture
        if match := re.match(r"\s*Function : (\S+)", line):
            function = listing[architecture].setdefault(match[1], [])
        elif match := INSTRUCTION.match(line):
            function.append((int(match[1], 16), match[2], match[3]))
    return {a: {short: code_facts(kernels[symbol])
                for symbol, short in short_names(list(kernels)).items()}
            for a, kernels in listing.items()}


def occupancy(architecture, threads, registers, shared):
    """Returns the number of resident blocks and the share of warps; both are 0 if a block does not
    fit."""
    m = MULTIPROCESSORS[architecture]
    warps = -(-threads // WARP)
    of_warp = -(-registers * WARP // REGISTER_UNIT) * REGISTER_UNIT
    # Warps are distributed over four schedulers, each of which has a quarter of the registers.
    by_registers = (REGISTERS // 4 // of_warp * 4) // warps if registers else m.blocks
    of_block = -(-(shared + m.shared_reserved) // m.shared_unit) * m.shared_unit
    by_shared = m.shared // of_block if of_block else m.blocks
    fits = shared <= m.shared_block
    blocks = min(m.blocks, m.warps // warps, by_registers, by_shared) if fits else 0
    return blocks, blocks * warps / m.warps


def read_budgets(path):
    """Returns a function (kernel, architecture) → budget.

    The default's entries come first, then the kernel's own; in each of the two, entries for the
    architecture override general ones.
    """
    table = tomllib.loads(Path(path).read_text(encoding="utf-8"))

    def budget_of(kernel, architecture):
        budget = {}
        for entry in (table["default"], table.get(kernel.split("<")[0], {})):
            budget |= {what: n for what, n in entry.items() if not isinstance(n, dict)}
            budget |= entry.get(architecture, {})
        return budget

    return budget_of


def excesses(budget_of, architectures):
    for architecture, kernels in sorted(architectures.items()):
        for kernel, r in sorted(kernels.items()):
            budget = budget_of(kernel, architecture)
            for what in ("registers", "stack"):
                if getattr(r, what) > budget[what]:
                    yield (f"{kernel}, {architecture}: {getattr(r, what)} "
                           f"{'registers' if what == 'registers' else 'bytes of stack'}, "
                           f"and its budget is {budget[what]} (kernels/budgets.toml)")
            if (r.bound is None and
                    occupancy(architecture, budget["threads"], r.registers, 0)[0] == 0):
                yield (f"{kernel}, {architecture}: a block of {budget['threads']} threads "
                       f"does not fit with {r.registers} registers (threads in "
                       "kernels/budgets.toml, or __launch_bounds__)")


def read_launches(path):
    """Returns {kernel: (threads, dynamic shared memory)} for the predicted steps (model.py)."""
    return json.loads(Path(path).read_text(encoding="utf-8"))["launches"]


PAGE = """# What the compiler makes of the kernels

`scripts/gpu-static.sh` wrote this page, on a machine without a GPU, from the machine code: {title}.
The budgets are [kernels/budgets.toml](../../kernels/budgets.toml)'s; \
a test fails where one is passed
([using a GPU](../howto/gpu.md#what-is-checked-without-one)).

- *registers*, *stack*: of a thread; the stack is local memory, spills among it: 0 bytes, no spill
- *shared*: bytes of a block, of the kernel's own variables and of its launch in the first of the
  [predicted steps](gpu-predictions.md) that has it
- *occupancy*: resident warps of a multiprocessor in hundredths of the most, \
at the *threads* and the shared memory
  of that launch; kernels of other samplers have none here
- *128-bit loads*, *float64 in loops*, *local in loops*: instructions in the code; \
a loop is what a branch backwards
  closes; nothing of 7.0, whose code nvdisasm of CUDA 13 does not read
- **bold**: more than the default budget of {registers} registers and {stack} bytes of stack; \
the budgets have
  exceptions, and clang's code for 7.0 takes more registers

| kernel | capability | registers | stack | shared | threads | occupancy | instructions | \
128-bit loads | float64 in loops | local in loops |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def page(arguments):
    budget_of, launches = read_budgets(arguments.budgets), read_launches(arguments.launches)
    default = budget_of("", "")
    rows = {}
    for binary in arguments.binaries:
        facts = code(binary)
        for architecture, kernels in resources(binary).items():
            for kernel, r in kernels.items():
                rows[kernel, architecture] = (
                    r, facts.get(architecture, {}).get(kernel, dict.fromkeys(FACTS, "–")))
    text = PAGE.format(title=arguments.title, **default)
    for (kernel, architecture), (r, facts) in sorted(rows.items()):
        shape = launches.get(kernel.split("<")[0])
        threads, dynamic = shape or (None, 0)
        share = (f"{100 * occupancy(architecture, threads, r.registers, r.shared + dynamic)[1]:.0f}"
                 if shape else "–")

        def marked(what, value=r):
            number = getattr(value, what)
            return f"**{number}**" if number > default[what] else str(number)

        text += (f"| `{kernel}` | {architecture} | {marked('registers')} | {marked('stack')} | "
                 f"{r.shared + dynamic} | {threads or '–'} | {share} | {facts['instructions']} | "
                 f"{facts['wide_loads']} | {facts['float64_in_loops']} | "
                 f"{facts['local_in_loops']} |\n")
    missing = sorted({a for _, a in rows} ^ set(MULTIPROCESSORS))
    if missing:
        text += f"\nNot compiled here: {', '.join(missing)}.\n"
    print(text, end="")
    failed = list(excesses(budget_of, {a: {k: r for (k, b), (r, _) in rows.items() if a == b}
                                      for a in {a for _, a in rows}}))
    if failed:
        die("\n".join(failed))


def check(arguments):
    found = defaultdict(dict)
    for binary in arguments.binaries:
        for architecture, kernels in resources(binary).items():
            found[architecture] |= kernels
    failed = list(excesses(read_budgets(arguments.budgets), found))
    if failed:
        die("\n".join(failed))
    counts = {a: len(kernels) for a, kernels in sorted(found.items())}
    print("isinglass: " + ", ".join(f"{n} kernels of {a}" for a, n in counts.items()) +
          " keep their budgets")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("check", "page"))
    parser.add_argument("binaries", nargs="+")
    parser.add_argument("--budgets", required=True)
    parser.add_argument("--launches")
    parser.add_argument("--title", default="", help="revision and compilers")
    arguments = parser.parse_args()
    {"check": check, "page": page}[arguments.what](arguments)


if __name__ == "__main__":
    main()
