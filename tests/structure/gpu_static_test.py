"""No kernel exceeds its budget of registers and local memory (kernels/budgets.toml), by the machine
code of the built library, and the check detects a kernel that does. The parts of
scripts/gpu/static.py that read code and compute occupancy are tested on code and numbers with known
answers.

Usage: gpu_static_test.py ROOT LIBRARY. The exit code is 77, which ctest reports as skipped, without
cuobjdump.
"""
import contextlib
import dataclasses
import io
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

root, library = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
sys.path.insert(0, str(root / "scripts/gpu"))
import static  # noqa: E402

BUDGETS = root / "kernels/budgets.toml"

SASS = """
        code for sm_80
                Function : _Z5twicePd
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/                   DADD R2, R2, R2 ;
        /*0020*/                   LDG.E.128 R4, [R2.64] ;
        /*0030*/              @!P0 LDL.LU R5, [R1+0x4] ;
        /*0040*/                   DFMA R2, R2, R2, R4 ;
        /*0050*/                   LDG.E.64 R4, [R2.64] ;
        /*0060*/               @P0 BRA 0x30 ;
        /*0070*/                   STL [R1], R5 ;
        /*0080*/                   EXIT ;
        /*0090*/                   BRA 0x90;
        /*00a0*/                   NOP;
"""


class Budgets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.found = static.resources(library)

    def excesses(self, text, found=None):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "budgets.toml")
            file.write_text(text, encoding="utf-8")
            return list(static.excesses(static.read_budgets(file), found or self.found))

    def test_no_kernel_passes_its_budget(self):
        self.assertEqual(list(static.excesses(static.read_budgets(BUDGETS), self.found)), [])
        for kernels in self.found.values():
            self.assertGreaterEqual(len(kernels), 40)

    def test_a_planted_excess_is_found(self):
        def complain(what):
            return [line for line in self.excesses("[default]\nregisters = 255\nstack = 4096\n"
                                                   "threads = 32\n" + what)
                    if line.startswith("accept_kernel, ")]
        self.assertEqual(complain(""), [])
        planted = complain("[accept_kernel]\nregisters = 7\n")
        self.assertEqual(len(planted), len(self.found))
        self.assertRegex(planted[0], r"accept_kernel, \d\.\d: \d+ registers, and its budget is 7 ")

    def test_an_architecture_has_budgets_of_its_own(self):
        def complain(text):
            return {line.split(",")[1].split(":")[0].strip() for line in self.excesses(text)
                    if line.startswith("accept_kernel, ")}
        some, *others = sorted(self.found)
        own = f'"{some}" = {{ registers = 7 }}\n'
        wide = "[default]\nregisters = 255\nstack = 4096\nthreads = 32\n"
        self.assertEqual(complain(wide + own), {some})
        self.assertEqual(complain(wide + "[accept_kernel]\nregisters = 200\n" + own), {some})
        self.assertEqual(complain(wide + own + "[accept_kernel]\nregisters = 7\n" +
                                  f'"{some}" = {{ registers = 200 }}\n'), set(others))

    def test_local_memory_is_found_where_none_is_allowed(self):
        none = ("[default]\nregisters = 255\nstack = 0\nthreads = 32\n"
                "[resnet_pass_kernel]\nstack = 24\n")
        self.assertEqual(self.excesses(none), [])
        capability, kernels = next(iter(self.found.items()))
        planted = (kernels |
                   {"accept_kernel": dataclasses.replace(kernels["accept_kernel"], stack=8)})
        self.assertRegex("\n".join(self.excesses(none, {capability: planted})),
                         "^accept_kernel, .* 8 bytes of stack")

    def test_a_block_that_no_multiprocessor_holds_is_found(self):
        # 182 registers a thread: 320 threads fail to start.
        def complain(threads, bound):
            kernel = static.Resources(registers=182, stack=0, shared=0, bound=bound)
            return self.excesses(f"[default]\nregisters = 255\nstack = 0\nthreads = {threads}\n",
                                 {"7.0": {"k": kernel}})
        self.assertEqual(complain(256, None), [])
        self.assertRegex(complain(320, None)[0],
                         "^k, 7.0: a block of 320 threads does not fit with 182 registers")
        self.assertEqual(complain(320, 320), [])  # the compiler ensures this
        bounded = [r for kernels in self.found.values()
                   for name, r in kernels.items() if name == "accept_kernel"]
        self.assertTrue(bounded and all(r.bound == 1024 for r in bounded))


class Code(unittest.TestCase):
    def test_kinds_of_instructions(self):
        instructions = [(int(m[1], 16), m[2], m[3])
                        for m in map(static.INSTRUCTION.match, SASS.splitlines()) if m]
        self.assertEqual(static.code_facts(instructions), {
            "instructions": 10, "wide_loads": 1, "float64_in_loops": 1, "local_in_loops": 1})
        self.assertEqual(static.loops(instructions), [(0x30, 0x60)])
        for name, float64 in {"DADD": 1, "DSETP.GEU.AND": 1, "MUFU.RCP64H": 1, "F2F.F64.F32": 1,
                              "I2F.F64.U32": 1, "F2F.F32.F64": 1, "FADD": 0, "MUFU.EX2": 0,
                              "DEPBAR.LE": 0}.items():
            with self.subTest(name):
                self.assertEqual(bool(static.FLOAT64.match(name)), bool(float64))

    def test_occupancy_worked_out_by_hand(self):
        # capability, threads, registers, shared memory → blocks of a multiprocessor
        known = {("7.0", 256, 32, 0): 8, ("7.0", 256, 64, 0): 4, ("7.0", 128, 255, 0): 2,
                 ("7.0", 1024, 32, 0): 2, ("7.5", 256, 32, 0): 4, ("7.5", 32, 32, 0): 16,
                 ("7.5", 128, 32, 33 << 10): 1, ("8.0", 256, 32, 0): 8, ("8.0", 32, 32, 0): 32,
                 ("8.0", 128, 32, 40 << 10): 4, ("8.0", 128, 32, 163 << 10): 1,
                 ("8.0", 128, 32, 164 << 10): 0,
                 ("9.0", 256, 104, 0): 2, ("9.0", 32, 112, 16 << 10): 13}
        for (capability, threads, registers, shared), blocks in known.items():
            with self.subTest(capability=capability, threads=threads, registers=registers,
                              shared=shared):
                found, share = static.occupancy(capability, threads, registers, shared)
                self.assertEqual(found, blocks)
                self.assertAlmostEqual(share, blocks * threads / 32 /
                                       static.MULTIPROCESSORS[capability].warps)


if __name__ == "__main__":
    if not shutil.which("cuobjdump"):
        print("cuobjdump is missing: scripts/setup.sh --tests installs it")
        sys.exit(77)
    with contextlib.redirect_stdout(io.StringIO()):
        unittest.main(argv=sys.argv[:1])
