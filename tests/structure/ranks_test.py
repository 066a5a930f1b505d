"""Statistics that engine/ computes over chains are over the chains of all ranks: averages, sums and
comparisons over chains go through Ranks (engine/context.h). The rule itself is tested on planted
lines.

Usage: ranks_test.py [ROOT].
"""
import re
import sys
from pathlib import Path

# The reductions in these folders are not over the chains of one rank.
OTHERS = {
    "diagnostics": "functions of draws, which their callers have gathered",
    "ranks": "what Ranks is made of",
    "semidefinite": "curvatures: matrices over sites",
}
# Reductions over a whole tensor or over its rows. Reductions over later dimensions are within a
# chain.
NAMES = ("mean|nanmean|std|var|std_mean|var_mean|median|nanmedian|quantile|nanquantile|logsumexp|"
         "sum|nansum|max|min|amax|amin|argmax|argmin")
WITHIN_A_CHAIN = r"\{?-?[1-9]"
METHOD = re.compile(rf"\.({NAMES})\((?!{WITHIN_A_CHAIN})")
FUNCTION = re.compile(rf"\b(torch|at)::({NAMES})\(")
BY_RANKS = re.compile(r"\branks_?\.(mean|sum|gather)\(")

PARAMETERS = "over the components of a mixture of balancing functions"
GATHERED = "gathered a few lines above"
GATHERED_BY_CALLER = "gathered by parallel_tempering.cpp"
CELL = "of a grid's cell, whose chains are all one rank's (lab/grid/run.h)"
ALLOWED = {
    ("annealing/ais.cpp",
     "return ((a - a.mean()) * (b - b.mean())).sum().item<double>() / (n - 1);"): GATHERED,
    ("annealing/ais.cpp",
     "const double allowed = torch::isfinite(result_.log_weights).sum().item<double>() / chains;"):
        GATHERED,
    ("annealing/base_weights.cpp", "const double largest = log_w.max().item<double>();"): GATHERED,
    ("annealing/base_weights.cpp", "const double mean = of_chains.mean().item<double>();"):
        GATHERED,
    ("annealing/base_weights.cpp",
     "of_chains.std().item<double>() / std::sqrt(static_cast<double>(of_chains.size(0)));"):
        GATHERED,
    ("annealing/base_weights.cpp",
     "const double ess = w.sum().square().item<double>() / w.square().sum().item<double>();"):
        GATHERED,
    ("annealing/factorised.cpp", "return -at.energy.mean().item<double>() - log_z_;"):
        "of a data set, which all ranks have",
    ("annealing/factorised.cpp", "start.log_z_ = torch::softplus(-theta).sum().item<double>();"):
        "over sites",
    ("annealing/factorised.cpp", "start.log_z_ = torch::log(total).sum().item<double>();"):
        "over sites",
    **{("annealing/temperature_range.cpp", line): "of chains that rank 0 looks at" for line in (
        "const double hops = "
        "state.statistics.hops_sum.to(torch::kFloat64).mean().item<double>() /",
        "return {difference, rounding * finite.max().item<double>()};",
        "if (!weighted) return accepted.mean().item<double>();",
        "const torch::Tensor weight = uphill / uphill.max();  // because a sum may overflow",
        "return ((weight * accepted).sum() / weight.sum()).item<double>();",
        "const double largest = finite.numel() > 0 ? finite.abs().max().item<double>() : 0;",
        "double temperature = "
        "largest * (finite / largest).square().mean().sqrt().item<double>();")},
    ("context.cpp", "return (all.is_floating_point() ? all : all.to(torch::kFloat64)).mean(0);"):
        "Ranks::mean itself",
    ("annealing/ais.cpp",
     "const int64_t finite = torch::isfinite(energy).sum().item<int64_t>(), all = energy.numel();"):
        "ends the job if one rank's are not finite",
    ("observers/best_solution.cpp",
     "scale_ = finite.numel() > 0 ? finite.median().item<double>() : 0;"):
        "of random states that are the same on all ranks",
    ("observers/mixing.cpp",
     "return watched_.back().values.all().narrow(0, 0, seen_).mean().item<double>();"):
        "of the draws of all ranks, gathered on rank 0 (gathered_draws.h)",
    ("observers/statistic.cpp", "return std::min(wanted, sorted.diff().min().item<double>());"):
        "over the values of a site",
    ("observers/statistic.cpp", "const torch::Tensor all = on.sum(0);"): "over sites",
    ("observers/modes.cpp", "share_[burn_in ? step : plan_.burn_in + step] = right.mean();"): CELL,
    ("observers/states.cpp", "if (burn_in) mean_[step] = state.current.untempered().mean();"): CELL,
    ("sampler.cpp", "if (std::isfinite(values.sum().item<double>())) return;"):
        "ends the job if one rank's are not finite",
    ("sampler.cpp",
     "const int64_t least = ids.min().item<int64_t>(), most = ids.max().item<int64_t>();"):
        "of an error's sentence",
    ("tempering/parallel_tempering.cpp",
     "const int64_t chains = c > 0 ? state.chain_ids.max().item<int64_t>() + 1 : 0;"):
        "of an error's sentence",
    ("annealing/few_changes.cpp", "const int64_t columns = most.max().item<int64_t>() + 1;"):
        "how large a table of this rank's own rows is",
    ("samplers/lattice_path.cpp",
     "const double mean = degree.mean().item<double>(), "
     "sites = static_cast<double>(degree.size(0));"): "over the sites of a lattice",
    ("samplers/lattice_path.cpp",
     "double fused = moves * degree.square().mean().item<double>();"):
        "over the sites of a lattice",
    ("samplers/lattice_path.cpp",
     "return {.evaluations = (n == 1 ? longest : longest.sum()).item<int64_t>()};"):
        "how many calls rank 0 makes",
    ("samplers/learned_balancing.cpp",
     "return torch::logsumexp(torch::log_softmax(theta, 0).view({-1, 1, 1}) + log_g, 0);"):
        PARAMETERS,
    ("samplers/learned_balancing.cpp",
     "torch::addcmul(b[k].view({-1, 1, 1}), slope[k].view({-1, 1, 1}), d).amax(0);"): PARAMETERS,
    ("samplers/self_balancing.cpp",
     "const auto gradient = torch::autograd::grad({j.mean()}, {theta, log_eta});"): GATHERED,
    ("tempering/bennett.cpp",
     "result.lower += torch::logsumexp(-lower.flatten(), 0).item<double>() - log_draws;"):
        GATHERED_BY_CALLER,
    ("tempering/bennett.cpp",
     "result.upper -= torch::logsumexp(upper.flatten(), 0).item<double>() - log_draws;"):
        GATHERED_BY_CALLER,
    ("tempering/bennett.cpp",
     "sums[static_cast<int64_t>(g)] = torch::logsumexp(own.flatten(), 0);"): GATHERED_BY_CALLER,
    ("tempering/bennett.cpp", "return torch::logsumexp(others, 0).item<double>();"):
        GATHERED_BY_CALLER,
    ("tempering/parallel_tempering.cpp", "result.round_trips = trips.mean().item<double>();"):
        GATHERED,
    ("tempering/parallel_tempering.cpp",
     "? (trips.std() / std::sqrt(trips.numel())).item<double>() / scans"): GATHERED,
    ("tempering/saved_ensembles.cpp",
     "own = {counts.slice(0, 0, ranks.rank()).sum().item<int64_t>(), count};"): GATHERED,
    ("tempering/saved_ensembles.cpp", "all = counts.sum().item<int64_t>();"): GATHERED,
}


def violations(file, text):
    """Returns the lines of a source of engine/ that reduce only this rank's chains."""
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0]
        if BY_RANKS.search(code) or (file, line.strip()) in ALLOWED:
            continue
        if METHOD.search(code) or FUNCTION.search(code):
            yield f"engine/{file}:{number}: over this rank's chains alone: {line.strip()}"


def test_the_rule():
    wrong = ("adapt(accepted.mean());", "rate = torch::mean(accepted);", "x.mean(0)",
             "x.std({0}, true)", "torch::quantile(x, 0.5)", "x.sum().item<double>() / n",
             "    .median();", "energy.min().item<double>()")
    right = ("adapt(ranks.mean(accepted));", "ranks_.gather(x).min()", "x.sum(1)", "x.amax(-1)",
             "x.norm(2, {1})", "// x.mean()", "std::max(a, b)", "x.sum({1, 2})")
    for line in wrong:
        assert len(list(violations("samplers/new.cpp", f"\n{line}\n"))) == 1, line
    for line in right:
        assert not list(violations("samplers/new.cpp", line)), line


def main():
    test_the_rule()
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "engine"
    texts = {str(file.relative_to(root)): file.read_text(encoding="utf-8")
             for file in sorted(root.rglob("*"))
             if file.suffix in (".cpp", ".h") and file.relative_to(root).parts[0] not in OTHERS}
    assert texts, f"{root} has no sources"
    found = [line for file, text in texts.items() for line in violations(file, text)]
    lines = {(file, line.strip()) for file, text in texts.items() for line in text.splitlines()}
    found += [f"engine/{file} does not have the line any more: {line}"
              for file, line in ALLOWED.keys() - lines]
    print("\n".join(found) or f"{len(texts)} sources")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
