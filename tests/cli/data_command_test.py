"""`isinglass data` as a user runs it, with a server on the loopback address that may be at fault.

Usage: data_command_test.py; ISINGLASS_BINARY is the program. The published files come from
../shared/data beside the repository; tests that need them are skipped without it.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/support"))
import faulty_server  # noqa: E402

DATA = SOURCE.parent / "shared/data"
PUBLISHED = {"mnist": "mnist", "caltech": "caltech", "freyfaces": "freyfaces"}  # set: folder
# Addresses other than the test's own lead to a proxy that does not exist.
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if k != "ISINGLASS_DATA"},
               "http_proxy": "http://127.0.0.1:1", "https_proxy": "http://127.0.0.1:1",
               "no_proxy": "127.0.0.1"}


class DataCommand(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        served = DATA if DATA.is_dir() else self.folder
        self.server = faulty_server.Server(served)
        self.addCleanup(self.server.close)

    def start(self, *arguments):
        return subprocess.Popen([os.environ["ISINGLASS_BINARY"], *map(str, arguments)],
                                cwd=self.folder, text=True, env=ENVIRONMENT, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def run_program(self, *arguments):
        process = self.start(*arguments)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def succeeds(self, *arguments):
        code, out, err = self.run_program(*arguments)
        self.assertEqual(code, 0, err)
        return out

    def refused(self, words, *arguments):
        code, out, err = self.run_program(*arguments)
        self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
        self.assertIn(words, err)

    def needs_data(self):
        if not DATA.is_dir():
            self.skipTest(f"there is no {DATA}")

    def test_an_empty_folder_is_listed(self):
        listed = self.succeeds("data")
        self.assertEqual(listed, self.succeeds("data", "list"))
        rows = {line.split()[0]: line for line in listed.splitlines() if line}
        for name in ("static-mnist", "mnist", "omniglot", "caltech", "freyfaces", "histopathology"):
            self.assertIn("  missing  ", rows[name])
        self.assertIn("  built in  ", rows["strokes"])
        self.assertIn("The data folder is data.", listed)
        told = json.loads(self.succeeds("data", "list", "--json", "--data-dir", "x"))
        self.assertEqual(told["data_dir"], "x")
        states = {one["name"]: (one["state"], one["can_be_fetched"]) for one in told["data_sets"]}
        self.assertEqual(states["mnist"], ("missing", True))
        self.assertEqual(states["omniglot-standin"], ("missing", False))
        self.assertEqual(states["strokes"], ("built in", False))

    def test_a_damaged_set_is_listed_with_the_reason(self):
        (self.folder / "data/caltech").mkdir(parents=True)
        (self.folder / "data/caltech/caltech101_silhouettes_28_split1.mat").write_text(
            "no silhouettes")
        listed = self.succeeds("data", "list")
        self.assertRegex(listed, r"\ncaltech .* damaged ")
        self.assertIn("\ncaltech cannot be read: data/caltech/caltech101", listed)

    def test_mistakes_get_one_line(self):
        self.refused("unknown data set 'mnits'; these can be downloaded: mnist, ", "data", "fetch",
                     "mnits")
        self.refused("strokes is built in and needs no file", "data", "fetch", "strokes")
        self.refused("omniglot-standin cannot be downloaded", "data", "fetch", "omniglot-standin")
        self.refused("needs names of data sets", "data", "fetch")
        self.refused("takes no names; got mnist", "data", "list", "mnist")
        self.refused("isinglass data is followed by list or fetch, not by 'get'", "data", "get",
                     "mnist")
        self.refused("not by 'lst'; did you mean list?", "data", "lst")
        self.refused("not by the name of a data set; isinglass data fetch mnist downloads the set",
                     "data", "mnist")
        self.refused("http:// or https:// is needed", "data", "fetch", "mnist", "--mirror",
                     "example.org")
        self.refused("--mirror would have no effect", "data", "list", "--mirror",
                     "http://127.0.0.1")
        self.refused("--timeout is 0", "data", "fetch", "mnist", "--timeout", 0)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_run_without_files_names_the_command(self):
        self.refused("isinglass data fetch mnist --data-dir", "train", "--dataset", "mnist",
                     "--iters", 1, "--out", "x")
        self.refused("isinglass data fetch omniglot --data-dir", "train", "--dataset", "omniglot",
                     "--iters", 1, "--out", "x")

    def test_every_address_that_failed_is_named(self):
        absent = self.server.address("absent")
        name = "caltech101_silhouettes_28_split1.mat"
        self.refused(f"{absent}/caltech/{name}: The requested URL returned error: 404; "
                     f"https://people.cs.umass.edu/~marlin/data/{name}: ", "data", "fetch",
                     "caltech", "--mirror", absent)
        self.refused("--mirror ADDRESS names a copy of a data folder", "data", "fetch", "caltech",
                     "--mirror", absent)
        self.assertEqual(list(self.folder.rglob("*.*")), [])

    def test_published_sets_are_fetched_once_and_read(self):
        self.needs_data()
        mirror = ("--mirror", self.server.address("whole"), "--data-dir", "here")
        out = self.succeeds("data", "fetch", *PUBLISHED, *mirror)
        for name, folder in PUBLISHED.items():
            self.assertIn(f"{name}: downloaded ", out)
            for file in (self.folder / "here" / folder).iterdir():
                self.assertEqual(file.read_bytes(), (DATA / folder / file.name).read_bytes())
        self.assertIn("mnist: downloaded 4 files\n", out)
        self.assertIn("  terms: licence CC BY-SA 3.0", out)
        self.assertTrue(out.endswith("\nnext: isinglass train --dataset mnist --data-dir here\n"),
                        out)
        requests = len(self.server.requests)
        again = json.loads(self.succeeds("data", "fetch", ",".join(PUBLISHED), "--json", *mirror))
        self.assertEqual([(one["name"], one["downloaded"]) for one in again["data_sets"]],
                         [(name, []) for name in PUBLISHED])
        self.assertEqual(len(self.server.requests), requests)
        told = json.loads(self.succeeds("data", "--json", "--data-dir", "here"))
        states = {one["name"]: one["state"] for one in told["data_sets"]}
        self.assertEqual({states[name] for name in PUBLISHED}, {"present"})
        self.succeeds("train", "--dataset", "mnist", "--data-dir", "here", "--model", "rbm",
                      "--hidden", 5, "--objective", "cd", "--iters", 2, "--warmup", 0, "--out",
                      "run", "--quiet")

    def test_the_copies_beside_the_repository_are_the_published_files(self):
        self.needs_data()
        shutil.copytree(DATA, self.folder / "data")
        out = self.succeeds("data", "fetch", "static-mnist", *PUBLISHED)
        self.assertEqual(out.count(": was there already\n"), 1 + len(PUBLISHED), out)
        with (self.folder / "data/freyfaces/freyfaces.pkl").open("ab") as file:
            file.write(b"x")
        self.refused("data/freyfaces/freyfaces.pkl is not the published file of "
                     "freyfaces: its SHA-256 is ",
                     "data", "fetch", "freyfaces")

    def test_a_server_that_is_down_does_not_hold_up_the_others(self):
        self.needs_data()
        self.refused("omniglot/chardata.mat cannot be downloaded: ", "data", "fetch", "omniglot",
                     "caltech", "--mirror", self.server.address("whole"), "--quiet")
        self.assertTrue(
            (self.folder / "data/caltech/caltech101_silhouettes_28_split1.mat").is_file())

    def test_an_interrupted_download_is_continued(self):
        (self.folder / "served/caltech").mkdir(parents=True)
        name = "caltech/caltech101_silhouettes_28_split1.mat"
        whole = (DATA / name).read_bytes() if DATA.is_dir() else os.urandom(800_000)
        (self.folder / "served" / name).write_bytes(whole)
        server = faulty_server.Server(self.folder / "served")
        self.addCleanup(server.close)
        part = self.folder / "data" / (name + ".part")
        process = self.start("data", "fetch", "caltech", "--mirror", server.address("slow"))
        while not (part.exists() and part.stat().st_size > 0):
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (130, ""), err)
        self.assertEqual(err, "isinglass: interrupted: the part that arrived is kept, and the same "
                              "command continues it\n")
        kept = part.stat().st_size
        self.assertEqual(part.read_bytes(), whole[:kept])
        if DATA.is_dir():
            self.succeeds("data", "fetch", "caltech", "--mirror", server.address("whole"))
            self.assertEqual(server.requests, [f"/slow/{name} 0\n", f"/whole/{name} {kept}\n"])


if __name__ == "__main__":
    unittest.main()
