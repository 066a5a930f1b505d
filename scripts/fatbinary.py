#!/usr/bin/env python3
"""Does what clang needs of CUDA's program fatbinary, which the wheels lack, with the library that
they contain.

    fatbinary -64 --create OUT --image=profile=sm_70,file=CUBIN
        --image=profile=compute_90,file=PTX …

scripts/common.sh links bin/fatbinary of the toolkit to this file; the library is in the toolkit's
lib/.
"""
import ctypes
import re
import sys
from pathlib import Path

IMAGE = re.compile(r"--image=profile=(sm|compute)_(\w+),file=(.+)")


def main():
    library = ctypes.CDLL(str(Path(sys.argv[0]).absolute().parents[1] / "lib/libnvfatbin.so.12"))

    def call(function, *arguments):
        if code := getattr(library, function)(*arguments):
            sys.exit(f"fatbinary: {function} failed with code {code}")

    images, out = [], None
    arguments = iter(sys.argv[1:])
    for argument in arguments:
        if argument == "--create":
            out = Path(next(arguments))
        elif found := IMAGE.fullmatch(argument):
            images.append(found.groups())
        elif argument != "-64":
            sys.exit(f"fatbinary: unknown option '{argument}'")
    if not images or out is None:
        sys.exit("fatbinary: --create OUT and --image=profile=…,file=… are needed")
    handle, options = ctypes.c_void_p(), (ctypes.c_char_p * 1)(b"-64")
    call("nvFatbinCreate", ctypes.byref(handle), options, ctypes.c_size_t(1))
    for kind, arch, file in images:
        code = Path(file).read_bytes()
        if kind == "sm":
            call("nvFatbinAddCubin", handle, code, ctypes.c_size_t(len(code)), arch.encode(), None)
        else:  # PTX is a text, which has to end with a zero byte
            call("nvFatbinAddPTX", handle, code + b"\0", ctypes.c_size_t(len(code) + 1),
                 arch.encode(), None, None)
    size = ctypes.c_size_t()
    call("nvFatbinSize", handle, ctypes.byref(size))
    made = ctypes.create_string_buffer(size.value)
    call("nvFatbinGet", handle, made)
    out.write_bytes(made.raw)
    call("nvFatbinDestroy", ctypes.byref(handle))


if __name__ == "__main__":
    main()
