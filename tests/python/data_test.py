"""Data in memory: every function interprets its values in the same way, as from a file."""
import subprocess

import numpy
import pytest
import torch

import isinglass as ig
from conftest import PROGRAM

P = torch.linspace(0.05, 0.95, 64)
torch.manual_seed(0)
BITS = torch.bernoulli(P.expand(500, 64))
GREY = (P * 0.98 + 0.02 * torch.rand(500, 64)).clamp(0, 1)
FIFTEEN = (GREY * 15).round().to(torch.uint8)
FIFTEEN[0, 0] = 15
BYTES = (GREY * 255).round().to(torch.uint8)
FEW = dict(hidden=4, objective="cd", iters=3, batch=20, warmup=0, lr=0.01)
TARGET = ig.models.bernoulli(theta=-torch.logit(P))


def trained(data, **options):
    return ig.train("rbm", data, **{**FEW, **options})


def same(one, other):
    return all(torch.equal(tensor, other.parameters[name])
               for name, tensor in one.parameters.items())


def evaluated(data, **options):
    return ig.evaluate(TARGET, data, sampler="gibbs", chains=10, steps=20, **options).log_likelihood


def test_a_test_split_does_not_touch_training():
    alone = trained({"train": BITS})
    for other in (BITS[:50], GREY[:50], BITS[:50].to(torch.int64), BITS[:50].bool()):
        assert torch.allclose(trained({"train": BITS, "test": other}).parameters["b_v"],
                              alone.parameters["b_v"])
    found = evaluated({"train": BITS, "test": GREY})["train"]["forward"]
    assert found == pytest.approx(evaluated(BITS)["forward"], abs=1e-6)
    for one, other in ((BITS.to(torch.uint8), BYTES), (BYTES, BITS.to(torch.int64))):
        for call in (trained, evaluated):
            with pytest.raises(ig.Error,
                               match=r"holds whole numbers up to 1 and the split '\w+' up to 255"):
                call({"train": one, "test": other})


def test_grey_levels_are_checked_in_every_function():
    for call in (trained, evaluated, ig.base_mean,
                 lambda data: ig.sample(TARGET, "gibbs", data=data, init="data", chains=3,
                                        steps=1)):
        for data in (FIFTEEN, {"train": FIFTEEN}, {"train": BYTES, "test": FIFTEEN},
                     FIFTEEN.to(torch.int64)):
            with pytest.raises(ig.Error,
                               match=r"holds whole numbers up to 15; expected 0 and "
                                     r"1, .* levels= 16"):
                call(data)
        for dark in (FIFTEEN / 255, BITS / 255):
            with pytest.raises(ig.Error, match=r"holds real grey levels up to 0\.0"):
                call(dark)
        for spins in (2 * BITS - 1, (2 * BITS - 1).to(torch.int8)):
            with pytest.raises(ig.Error,
                               match=r"holds the values -1 and 1, but states have .* \(s \+ 1\)/2"):
                call(spins)
        with pytest.raises(ig.Error, match="shape"):
            call(BITS[:0])


def test_levels_of_memory_are_those_of_a_file(tmp_path):
    for data, levels in ((BYTES, 256), (FIFTEEN, 16), (FIFTEEN.to(torch.int64), 16),
                         (FIFTEEN.numpy(), 17)):
        fit = trained(data, levels=levels)
        assert fit.parameters["W"].shape == (4, 64, levels) and fit.target.states == "categorical"
        torch.save(torch.as_tensor(data), tmp_path / "x.pt")
        assert same(fit, trained(tmp_path / "x.pt", levels=levels))
        split = trained({"train": data, "test": data[:10]}, levels=levels)
        assert split.target.categories == levels
        found = [ig.evaluate(fit.target, given, levels=levels, sampler="gwg", chains=4,
                             steps=5).log_likelihood
                 for given in (data, {"train": data})]
        assert found[0] == found[1]["train"]
    run = ig.sample(fit.target, "gwg", data=FIFTEEN, levels=17, init="data", chains=5, steps=1)
    assert run.samples.shape == (1, 5, 64)
    with pytest.raises(ig.Error, match="levels= 9 allows categories from 0 to 8"):
        trained(FIFTEEN, levels=9)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64 * 16, 1),
                                 torch.nn.Flatten(0))
    few = dict(sampler="gwg", iters=2, batch=5, buffer=10, steps_per_iter=1)
    assert ig.train(module, FIFTEEN, levels=16, **few).target.categories == 16
    with pytest.raises(ig.Error, match="levels= applies to images"):
        ig.train("mlp", BYTES, levels=256, objective="dsm", iters=1)


def test_images_have_one_size():
    few = dict(channels=2, sampler="gwg", iters=1, batch=5, buffer=10, steps_per_iter=1)
    for data in (BITS, {"train": BITS}, {"train": BITS, "test": BITS.view(-1, 8, 8)},
                 BITS.view(-1, 1, 8, 8)):
        assert ig.train("resnet", data, **few).options["image"] == "8x8"
    for data in (BITS, {"train": BITS}):
        assert ig.train("resnet", data, image="4x16", **few).options["image"] == "4x16"
    with pytest.raises(ig.Error, match="image= is 4x16, but the images of the splits are 8x8"):
        ig.train("resnet", {"train": BITS.view(-1, 8, 8)}, image="4x16", **few)
    with pytest.raises(ig.Error,
                       match="image= is 5x13, but the images of the tensor have 64 pixels"):
        ig.train("resnet", BITS, image="5x13", **few)


def test_what_holds_the_same_images():
    whole = trained(BITS)
    dataset = torch.utils.data.TensorDataset(BITS, torch.zeros(500))
    for data in (BITS.to(torch.int64), BITS.to(torch.int32), BITS.bool(), BITS.half(),
                 BITS.tolist(), BITS.numpy(), BITS.numpy().astype(numpy.uint16),
                 BITS.numpy()[:, ::-1][:, ::-1], list(BITS), BITS.view(-1, 1, 8, 8),
                 BITS.to_sparse(), dataset, BITS.clone().requires_grad_()):
        assert same(trained(data), whole)
        assert torch.equal(ig.base_mean(data), ig.base_mean(BITS))
        assert evaluated(data) == evaluated(BITS)
        states = [ig.sample(TARGET, "gibbs", data=each, init="data", chains=3, steps=1).samples
                  for each in (data, BITS)]
        assert torch.equal(*states)
    loader = torch.utils.data.DataLoader(dataset)
    subset = torch.utils.data.Subset(dataset, range(10))
    for data, words in {loader: "the data is a DataLoader; a tensor of all its images",
                        subset: "is a Subset"}.items():
        for call in (trained, evaluated, ig.base_mean):
            with pytest.raises(ig.Error, match=words):
                call(data)
    with pytest.raises(ig.Error,
                       match="the data is a list, which torch cannot convert to a tensor: "):
        trained([[0, 1], [1]])
    with pytest.raises(ig.Error,
                       match=r"a split 'tests'; only train, validation and test are known"):
        trained({"train": BITS, "tests": BITS})
    with pytest.raises(ig.Error, match="no split 'train'"):
        evaluated({"test": BITS})


def test_a_module_has_the_sites_of_its_data():
    def module():
        torch.manual_seed(1)
        return torch.nn.Sequential(torch.nn.Linear(64, 1), torch.nn.Flatten(0))
    few = dict(sampler="gwg", iters=2, batch=5, buffer=10, steps_per_iter=1)
    whole = ig.train(module(), BITS, **few)
    for data in (BITS.numpy(), BITS.view(-1, 1, 8, 8), BITS.tolist()):
        assert same(ig.train(module(), data, **few), whole)
    assert ig.train(module(), {"train": BITS, "test": BITS[:5]}, **few).target.sites == 64
    with pytest.raises(ig.Error, match=r"isinglass.energy\(module, sites="):
        ig.train(module(), "strokes", **few)


def test_points_in_splits():
    points = torch.randn(50, 2) * 3
    few = dict(objective="dsm", iters=3, batch=10, warmup=0)
    assert same(ig.train("mlp", {"train": points, "test": points[:5]}, **few),
                ig.train("mlp", points, **few))


def test_labels_are_split_with_their_images():
    labels = torch.arange(500) % 3
    few = dict(objective="classify", iters=150, batch=50, warmup=0, lr=0.03, ema=0.9)
    # The first pixels of an image give its class.
    rows = (torch.nn.functional.one_hot(labels, 3) * 255).to(torch.uint8)
    images = rows.repeat(1, 3).view(-1, 3, 3)
    for data in (images, images.view(-1, 9), images / 255, images.view(-1, 9) / 255,
                 {"train": images}):
        fit = ig.train("mlp", data, labels=labels.tolist(), **few)
        assert fit.metrics[-1]["loss"] < 0.1, (data, fit.metrics[-1])
    for wrong, words in {labels[:100]: "100 labels for the 500 training images of the tensor",
                         labels - 1: "a label of the tensor is -1",
                         labels.float(): "labels of the tensor are of type Float"}.items():
        with pytest.raises(ig.Error, match=words):
            ig.train("mlp", images, labels=wrong, **few)
    with pytest.raises(ig.Error, match="labels= applies to images in memory"):
        ig.train("mlp", "strokes", labels=labels, **few)


def test_files_of_numpy(tmp_path):
    numpy.save(tmp_path / "x.npy", BITS.numpy())
    numpy.save(tmp_path / "f.npy", numpy.asfortranarray(BITS.to(torch.int64).numpy()))
    numpy.savez_compressed(tmp_path / "x.npz", images=BITS.numpy())
    whole = trained(BITS)
    for name in ("x.npy", "f.npy", "x.npz"):
        assert same(trained(tmp_path / name), whole)
    numpy.savez(tmp_path / "splits.npz", train=BITS[:400].numpy(), valid=BITS[400:450].numpy(),
                test=BITS[450:].numpy())
    splits = {"train": BITS[:400], "validation": BITS[400:450], "test": BITS[450:]}
    for name, tensor in splits.items():
        numpy.save(tmp_path / f"{name}.npy", tensor.numpy())
    files = dict(validation=tmp_path / "validation.npy", test=tmp_path / "test.npy")
    assert same(trained(tmp_path / "splits.npz"), trained(splits))
    assert same(trained(tmp_path / "train.npy", **files), trained(splits))
    assert (evaluated(tmp_path / "train.npy", **files) == evaluated(splits) ==
            evaluated(tmp_path / "splits.npz"))
    with pytest.raises(ig.Error, match="validation= and test= name files"):
        trained(BITS, validation=tmp_path / "validation.npy")


def test_numbers_as_text_are_data(tmp_path):
    numpy.savetxt(tmp_path / "bits.csv", BITS.numpy(), fmt="%d", delimiter=",", header="bits")
    numpy.savetxt(tmp_path / "bits.txt", BITS.numpy())
    expected = ig.train("rbm", BITS.to(torch.uint8), **FEW).parameters
    for name in ("bits.csv", "bits.txt"):
        found = ig.train("rbm", tmp_path / name, **FEW).parameters
        assert all(torch.equal(expected[key], value) for key, value in found.items())
    (tmp_path / "bits.csv").write_text("0,1\n1,x\n")
    with pytest.raises(ig.Error, match="bits.csv: line 2: 'x' is not a finite number"):
        ig.train("rbm", tmp_path / "bits.csv", **FEW)


def test_a_run_in_memory_is_a_run_of_the_program(tmp_path):
    fit = ig.train("rbm", BITS, out=tmp_path / "run", **FEW)
    shown = subprocess.run([PROGRAM, "inspect", tmp_path / "run"], capture_output=True, text=True,
                           check=True)
    assert "run directory" in shown.stdout and "rbm" in shown.stdout
    torch.save(BITS, tmp_path / "bits.pt")
    subprocess.run([PROGRAM, "evaluate", "--weights", tmp_path / "run" / "ema.pt", "--dataset",
                    tmp_path / "bits.pt", "--chains", "5", "--steps", "5", "--out",
                    tmp_path / "ais"], check=True, capture_output=True)
    refused = subprocess.run([PROGRAM, "train", "--dataset", "strokes", "--out", tmp_path / "run"],
                             capture_output=True, text=True)
    assert refused.returncode == 2 and "already holds a run" in refused.stderr
    run = ig.sample(fit.target, "gibbs", chains=3, steps=4)
    run.save(tmp_path / "draws")
    with pytest.raises(ig.Error, match="draws already holds samples.pt of a run; give another "
                                       "directory, or overwrite"):
        run.save(tmp_path / "draws")
    run.save(tmp_path / "draws", overwrite=True)
    for overwrite in (False, True):
        with pytest.raises(ig.Error,
                           match="run already holds config.toml of a run; give another directory"):
            run.save(tmp_path / "run", overwrite=overwrite)
