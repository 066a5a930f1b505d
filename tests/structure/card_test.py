"""scripts/pages/card.py: a model card states how reliable its numbers are.

card_test.py SOURCE_DIR PROGRAM
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

source, program = map(pathlib.Path, sys.argv[1:])


def tempered_chains(folder, chains):
    """Makes a run of `isinglass sample --rungs` with four draws."""
    subprocess.run([program, "sample", "--instance", "ising-grid:side=28,coupling=0.3", "--sampler",
                    "gibbs", "--scan", "chromatic", "--rungs", "3", "--chains", str(chains),
                    "--burn-in", "2", "--steps", "12", "--thin", "3", "--threads", "1", "--quiet",
                    "--out", folder], check=True,
                   stdout=subprocess.DEVNULL)
    return folder


def card(folder, again=False, samples=None, residual=None, **changes):
    run, evaluation = folder / "run", folder / "evaluation"
    (run / "samples").mkdir(parents=True, exist_ok=True)
    evaluation.mkdir(exist_ok=True)
    (run / "samples" / "00000002.png").write_bytes(b"png")
    (run / "config.toml").write_text("model = 'rbm'\nchannels = 64\nhidden = 4\ndataset = 'bars'\n"
                                     "objective = 'pcd'\nimage = '28x28'\nthreads = 2\n")
    (evaluation / "config.toml").write_text("model = 'rbm'\nweights = 'ema.pt'\n")
    line = {"iteration": 2, "seconds": 900, "acceptance": 0.5, "hops": 3, "difference": 1}
    (run / "metrics.jsonl").write_text(json.dumps(line) + "\n")
    splits = {"train": -90.0, "validation": -91.0, "test": -92.0}
    forward = {s: {"forward": v, "reverse": None, "bidirectional": None} for s, v in splits.items()}
    ais = {"log_z": 12.5, "log_z_se": 0.2, "weight_ess": 40.0, "chains": 50, "seconds": 9,
           "curve": [[10, 12.5]], "log_likelihood": forward, "baseline": splits,
           "note": "What is so of it.",
           "verdict": "open", "reason": "forward annealing alone",
           "log_likelihood_text": {"test": "-92.0 nats (open: forward annealing alone)"},
           "parameters_sha256": "12ab", "data_sha256": "34cd", "revision": "abc123",
           "sampler": "pafs", "sampler_options": {"radius": 5.0}, "method": "ais",
           "dataset": "bars", "threads": 2} | changes
    (evaluation / "ais.json").write_text(json.dumps(ais))
    paths = ([evaluation, folder / "weights.pt"] if again
             else [run, evaluation, folder / "weights.pt"])
    if residual:  # a run against draws of a base comes first, or is the only one
        noise = folder / "noise"
        noise.mkdir(exist_ok=True)
        (noise / "config.toml").write_text(
            "model = 'residual'\nchannels = 8\nbound = 10.0\ndataset = 'bars'\nthreads = 2\n"
            "base-model = 'rbm=/home/me/my-rbm.pt'\nobjective = 'nce'\nimage = '28x28'\n")
        told = {"iteration": 7, "seconds": 120, "log_ratio_data": 2.5, "log_ratio_noise": -4.0}
        (noise / "metrics.jsonl").write_text(json.dumps(told) + "\n")
        later = (noise / "config.toml").read_text().replace("nce", "pcd")
        (run / "config.toml").write_text(later + "weights = '/home/me/best.pt'\n")
        paths = [noise, *paths] if residual == "both" else [
            noise, *paths[1:], "--samples", samples]
        samples = None
    paths += ["--tempered", samples] if samples else []
    subprocess.run([sys.executable, "-B", source / "scripts/pages/card.py", *paths], check=True,
                   env={**os.environ, "ISINGLASS_BINARY": str(program)})
    return (folder / "weights.md").read_text()


def head(text):
    return text.split("## ")[0]


def section(text, title):
    """The text from a heading to the next one."""
    return text[text.index(title):].split("\n## ")[0].strip()


trained = "## How it was trained"
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    alone = card(folder)
    for text in ("with 4 hidden units", "took\n15 minutes", "12.50 ± 0.20", "40.0 of 50",
                 "What is so of it.", "| -92.00 |", "`12ab`", "`34cd`", "abc123", "radius 5",
                 "**Verdict: open: forward annealing alone.**", "-92.0 nats (open:",
                 "not measured"):
        assert text in alone, (text, alone)
    assert "\nreverse:" not in alone, alone
    both = {s: {"forward": -90.0, "reverse": -90.75, "bidirectional": -90.5}
            for s in ("train", "validation", "test")}
    closed = card(folder, log_z_se=None, log_z_upper=13.25, log_z_upper_se=0.3,
                  weight_ess_reverse=30.0, log_z_bidirectional=12.9, log_z_bidirectional_se=0.1,
                  reverse_start={"from": "chains", "rhat": 1.012, "steps": 4096},
                  log_likelihood=both, verdict="closed", reason=None,
                  log_likelihood_text={"test": "-90.5 nats (closed: from -90.8 to -90.0)"})
    for text in ("12.50 ± undefined", "reverse: 13.25 ± 0.30", "size 30.0",
                 "chains of 4096 steps, R̂ 1.012", "both: 12.90 ± 0.10", "**Verdict: closed.**",
                 "(closed: from -90.8", "| -90.75 |", "| -90.50 |"):
        assert text in closed, (text, closed)
    assert "not measured" not in closed, closed
    bits = {"train": 4.25, "validation": 4.5, "test": 4.75}
    faces = card(folder, bits_per_dim=bits, baseline_bits_per_dim={s: 6.5 for s in bits})
    for text in ("| bits per dimension (open) |",
                 "| this model, the likelihood to quote | 4.25 | 4.50 | 4.75 |",
                 "| independent pixels (clamped mean) | 6.50 |"):
        assert text in faces, (text, faces)
    assert "bits per dimension" not in closed, closed
    # Evaluated again, without the run: the head stays.
    ladder = {"rungs": 24, "round_trips": 12.5}
    tempered = card(folder, again=True, method="tempering", log_z=12.25, log_z_upper=13.0,
                    log_z_bidirectional=12.75, log_z_bidirectional_se=0.25, rhat=1.004,
                    tempering=ladder, log_likelihood=both, verdict="closed", reason=None)
    assert (head(tempered) == head(closed) and
            section(tempered, trained) == section(closed, trained)), tempered
    for text in ("## Log-likelihood, by parallel tempering", "going up the ladder: 12.25",
                 "going down: 13.00", "both: 12.75 ± 0.25; 24 rungs, 12.5 round trips",
                 "50 ensembles, R̂ 1.004", "| this model, up | -90.00 |", "| scans | log Z |"):
        assert text in tempered, (text, tempered)
    assert tempered.count("## Checksums") == 1 and "annealed" not in tempered, tempered
    # With tempered chains: those of few ensembles are several draws; the section is replaced by
    # another, and stays without.
    title = "## Samples from tempered chains"
    few = card(folder, again=True, samples=tempered_chains(folder / "few", 16))
    picture = (folder / "weights-tempered.png").read_bytes()
    for text in (title, "of 16 ensembles of 3 tempered chains", "Every 3 scans, after 2 of burn-in",
                 "(weights-tempered.png)", "--rungs 3", "--out OUT\n```\n\n## Checksums"):
        assert text in few, (text, few)
    many = card(folder, again=True, samples=tempered_chains(folder / "many", 80))
    assert ("of 64 ensembles of 3 tempered chains" in many and "After 14 scans" in many and
            many.count(title) == 1), many
    assert picture[:4] == b"\x89PNG" and (folder / "weights-tempered.png").read_bytes() != picture
    again = card(folder, again=True)
    assert head(again) == head(many) and section(again, title) == section(many, title), again
    for name in ("## Log-likelihood", "## Checksums"):
        assert section(again, name) == section(alone, name), again
    # With an evaluation as in the papers, without another evaluation: everything else stays.
    forward = folder / "forward"
    forward.mkdir()
    (forward / "config.toml").write_text("model = 'rbm'\nweights = 'a/ema.pt'\nsteps = 4000\n"
                                         "schedule = 'linear'\nmethod = 'ais'\nreverse = false\n")
    (forward / "ais.json").write_text((folder / "evaluation/ais.json").read_text())
    script = [sys.executable, "-B", source / "scripts/pages/card.py", folder / "weights.pt",
              "--published", forward]
    subprocess.run(script, check=True)
    published = (folder / "weights.md").read_text()
    of_papers = section(published, "## By forward annealing alone")
    for text in ("50 chains take 4000 temperatures", "are 500, with 300000",
                 "| forward annealing alone | -90.00 | -91.00 | -92.00 |", "12.50 ± 0.20",
                 "isinglass evaluate --model rbm --weights weights.pt --steps 4000",
                 "--no-reverse"):
        assert text in of_papers, (text, of_papers)
    assert published.replace(of_papers + "\n\n", "") == again, published
    for key, value in (("log_z_upper", 13.0), ("parameters_sha256", "56ef")):
        other = json.loads((folder / "evaluation/ais.json").read_text()) | {key: value}
        (forward / "ais.json").write_text(json.dumps(other))
        assert subprocess.run(script, capture_output=True).returncode == 1, key
    # A network on a base: by noise-contrastive estimation alone, and with chains afterwards.
    # The card names the base if it has a card of its own.
    noise = card(folder, residual="alone", samples=folder / "few")
    assert "corrects the rbm that is in the same file by at most 10 nats" in noise, noise
    (folder / "my-rbm.md").write_text("# my-rbm.pt\n")
    noise = card(folder, residual="alone", samples=folder / "few")
    for text in ("A residual EBM with 8 channels, trained on `bars` by noise-contrastive",
                 "corrects the rbm of [my-rbm](my-rbm.md) by at most 10 nats", "took\n2 minutes",
                 "![draws of the model](weights.png)", "--base-model rbm=my-rbm.pt",
                 "2.5 nats\nat images and -4.0 at draws"):
        assert text in noise, (text, noise)
    assert (folder / "weights.png").read_bytes()[:4] == b"\x89PNG" and "/home" not in noise, noise
    chains = card(folder, residual="both")
    for text in ("by noise-contrastive estimation, then by persistent", "took\n2 and 15 minutes",
                 "--objective nce", "--weights best.pt", "chains of the replay buffer after"):
        assert text in chains, (text, chains)
print("cards: as they should be")
