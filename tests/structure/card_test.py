"""scripts/pages/card.py: a card says what its numbers are worth.

    card_test.py SOURCE_DIR
"""
import json
import pathlib
import subprocess
import sys
import tempfile

source = pathlib.Path(sys.argv[1])


def card(folder, **changes):
    run, evaluation = folder / "run", folder / "evaluation"
    (run / "samples").mkdir(parents=True, exist_ok=True)
    evaluation.mkdir(exist_ok=True)
    (run / "samples" / "00000002.png").write_bytes(b"png")
    (run / "config.toml").write_text("model = 'rbm'\nchannels = 4\ndataset = 'bars'\nthreads = 2\n")
    (evaluation / "config.toml").write_text("model = 'rbm'\nweights = 'ema.pt'\n")
    line = {"iteration": 2, "seconds": 900, "acceptance": 0.5, "hops": 3, "difference": 1}
    (run / "metrics.jsonl").write_text(json.dumps(line) + "\n")
    splits = {"train": -90.0, "validation": -91.0, "test": -92.0}
    ais = {"log_z": 12.5, "log_z_se": 0.2, "weight_ess": 40.0, "chains": 50, "seconds": 9, "curve": [[10, 12.5]],
           "log_likelihood": splits, "baseline": splits, "warning": None, "note": "What is so of it.",
           "parameters_sha256": "12ab", "data_sha256": "34cd", "revision": "abc123", "sampler": "pafs",
           "sampler_options": {"radius": 5.0}} | changes
    (evaluation / "ais.json").write_text(json.dumps(ais))
    script = [sys.executable, "-B", source / "scripts/pages/card.py", run, evaluation, folder / "weights.pt"]
    subprocess.run(script, check=True)
    return (folder / "weights.md").read_text()


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    good = card(folder)
    for text in ("took\n15 minutes", "error 0.20", "40.0 of 50", "What is so of it.", "| -92.00 |", "`12ab`", "`34cd`", "abc123", "radius 5"):
        assert text in good, (text, good)
    assert "Warning" not in good, good
    poor = card(folder, log_z_se=None, weight_ess=1.0, warning="few weights carry it")
    for text in ("error undefined", "**Warning:** few weights carry it."):
        assert text in poor, (text, poor)
print("cards: as they should be")
