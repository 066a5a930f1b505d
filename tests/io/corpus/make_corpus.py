"""Writes the corpus of small .pt files beside this script: python make_corpus.py (needs torch
2.11).

good_*.pt are what torch.save writes; tests/io/pt/pt_file_test.cpp knows their contents.
bad_*.pt must be refused; the tests know the sentence.
"""

import pathlib
import struct
import zipfile
from collections import OrderedDict

import torch

FOLDER = pathlib.Path(__file__).parent


def save(name, value, **options):
    torch.save(value, FOLDER / name, **options)


def put(archive, name, data):
    archive.writestr(zipfile.ZipInfo(name), data)  # dated 1980: the same bytes every time


def rewrite(source, target, change):
    """Copies an archive with change(name, bytes) applied to every record, and new checksums."""
    with zipfile.ZipFile(FOLDER / source) as old, zipfile.ZipFile(FOLDER / target, "w") as new:
        for entry in old.infolist():
            put(new, entry.filename, change(entry.filename, old.read(entry)))


def replace_in_pickle(source, target, before, after):
    def change(name, data):
        if not name.endswith("data.pkl"):
            return data
        assert before in data, (source, before)
        return data.replace(before, after)

    rewrite(source, target, change)


def archive(target, pickle):
    with zipfile.ZipFile(FOLDER / target, "w") as new:
        put(new, "archive/version", "3\n")
        put(new, "archive/data.pkl", pickle)


def module_state_dict():
    module = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.BatchNorm1d(1))
    with torch.no_grad():
        for i, parameter in enumerate(module.parameters()):
            parameter.copy_(torch.arange(parameter.numel()).view_as(parameter) + 10 * i)
    return module.state_dict()


def optimizer_state_dict():
    parameter = torch.nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.Adam([parameter], lr=0.5)
    parameter.grad = torch.tensor([1.0, -1.0])
    optimizer.step()
    return optimizer.state_dict()


def all_types():
    types = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8",
             "uint8"]
    values = {name: torch.tensor([0, 1, 100]).to(getattr(torch, name)) for name in types}
    return values | {"bool": torch.tensor([False, True, True])}


def views():
    base = torch.arange(12.0)
    return {
        "base": base,
        "slice": base[4:7],
        "transposed": base.view(3, 4).t(),
        "every_other": base[1::2],
        "repeated": torch.tensor([7.0]).expand(2, 3),
        "number": torch.tensor(5),
        "empty": torch.empty(0, 3),
        "empty_slice": base[12:],
    }


def nested():
    return {
        "none": None,
        "flags": (True, False),
        "integers": [0, 255, 256, -1, 2**31, -(2**40), 2**63 - 1, -(2**63)],
        "numbers": [0.5, float("inf"), -0.0],
        "text": "ψ ≠ φ",
        "inner": {"list": [[], [1]], 3: {"deep": torch.ones(1)}},
    }


def good():
    save("good_module.pt", module_state_dict())
    save("good_optimizer.pt", optimizer_state_dict())
    save("good_types.pt", all_types())
    save("good_views.pt", views())
    save("good_nested.pt", nested())
    save("good_tensor.pt", torch.arange(6, dtype=torch.int32).view(2, 3))
    save("good_parameter.pt", torch.nn.Parameter(torch.tensor([1.0, 2.0])))
    save("good_protocol4.pt", OrderedDict(w=torch.tensor([1.5])), pickle_protocol=4)
    replace_in_pickle("good_tensor.pt", "good_cuda.pt", b"X\3\0\0\0cpu", b"X\6\0\0\0cuda:0")


def bad():
    archive("bad_global.pt", b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.")
    save("bad_complex.pt", torch.zeros(1, dtype=torch.complex64))
    save("bad_sparse.pt", torch.eye(2).to_sparse())
    save("bad_set.pt", {1, 2})
    save("bad_legacy.pt", torch.ones(1), _use_new_zipfile_serialization=False)
    save("bad_storage.pt", torch.FloatStorage([1.0]))
    save("bad_class.pt", OrderedDict)
    torch.jit.save(torch.jit.script(torch.nn.Identity()), str(FOLDER / "bad_script.pt"))
    (FOLDER / "bad_text.pt").write_text("not a zip archive\n")
    (FOLDER / "bad_empty.pt").write_bytes(b"")

    # Sizes (2, 3) and strides (3, 1) at offset 0 of six elements, each made too large in turn.
    layout = b"K\0K\2K\3\x86"
    replace_in_pickle("good_tensor.pt", "bad_offset.pt", layout, b"K\1K\2K\3\x86")
    replace_in_pickle("good_tensor.pt", "bad_size.pt", layout, b"K\0K\3K\3\x86")
    replace_in_pickle("good_tensor.pt", "bad_stride.pt", b"K\3K\1\x86", b"K\4K\1\x86")
    negative = b"\x8a\x01\xff"
    replace_in_pickle("good_tensor.pt", "bad_negative.pt", layout, b"K\0" + negative + b"K\3\x86")
    huge = b"\x8a\x08" + struct.pack("<q", 2**62)
    replace_in_pickle("good_tensor.pt", "bad_overflow.pt", layout, b"K\0" + huge + b"K\4\x86")
    replace_in_pickle("good_views.pt", "bad_unfolded.pt", b"K\2K\3\x86", b"J\0\0\0\x10K\3\x86")

    # Shared references: 2^60 leaves; a list inside itself; a tuple of a tuple of a …
    archive("bad_laughs.pt", b"\x80\x02]q\0" + b"".join(
        b"](h%ch%ceq%c" % (i, i, i + 1) for i in range(60)) + b".")
    archive("bad_cycle.pt", b"\x80\x02]q\0h\0a.")
    archive("bad_depth.pt", b"\x80\x02N" + b"\x85" * 200 + b".")
    archive("bad_long.pt", b"\x80\x02\x8a\x09" + b"\1" * 9 + b".")
    archive("bad_opcode.pt", b"\x80\x02I7\n.")
    archive("bad_utf8.pt", b"\x80\x02X\2\0\0\0\xc0\x80.")
    archive("bad_key.pt", b"\x80\x02}K\1K\2\x86K\3s.")
    archive("bad_twice.pt", b"\x80\x02}(K\1NK\1Nu.")
    archive("bad_stack.pt", b"\x80\x02a.")
    archive("bad_mark.pt", b"\x80\x02K\1(\x85.")
    archive("bad_memo.pt", b"\x80\x02h\5.")
    rewrite("good_types.pt", "bad_bool.pt",
            lambda name, data: b"\0\1\2" if data == b"\0\1\1" else data)
    rewrite("good_tensor.pt", "bad_short_storage.pt",
            lambda name, data: data[:-4] if name.endswith("data/0") else data)
    rewrite("good_tensor.pt", "bad_endian.pt",
            lambda name, data: b"big" if name.endswith("byteorder") else data)
    with zipfile.ZipFile(FOLDER / "bad_archive.pt", "w") as other:
        put(other, "hello.txt", "hello")
    with zipfile.ZipFile(FOLDER / "bad_compressed.pt", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("archive/data.pkl", b"\x80\x02N.", zipfile.ZIP_DEFLATED)
    data = bytearray((FOLDER / "good_tensor.pt").read_bytes())
    data[data.index(struct.pack("<6i", *range(6)))] ^= 1
    (FOLDER / "bad_checksum.pt").write_bytes(data)


if __name__ == "__main__":
    torch.manual_seed(0)
    good()
    bad()
