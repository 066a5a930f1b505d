"""models.qubo from dicts, matrices and models, and networkx graphs as edges, by enumeration."""
import itertools
import types

import networkx
import numpy
import pytest
import scipy.sparse
import torch

import isinglass as ig

Q = {(0, 0): 1.5, (1, 1): -2, (0, 1): 3, (1, 0): 0.25, (3, 1): -0.5}


def states(sites):
    return torch.tensor(list(itertools.product([0, 1], repeat=sites)), dtype=torch.uint8)


def energies(terms, sites, offset=0.0):
    return [offset + sum(v * x[i] * x[j] for (i, j), v in terms.items())
            for x in itertools.product([0, 1], repeat=sites)]


def matrix():
    full = numpy.zeros((4, 4))
    for (i, j), value in Q.items():
        full[i, j] = value
    return full


@pytest.mark.parametrize("given", [
    lambda: Q, matrix, lambda: torch.tensor(matrix()), lambda: matrix().tolist(),
    lambda: torch.tensor(matrix(), dtype=torch.float32),
    lambda: scipy.sparse.coo_matrix(matrix()), lambda: scipy.sparse.csr_array(matrix())])
def test_every_form_is_the_sum_of_its_entries(given):
    target = ig.models.qubo(given(), offset=0.5)
    assert target.sites == 4
    assert target.energy(states(4)).tolist() == energies(Q, 4, 0.5)


def test_a_symmetric_matrix_counts_every_pair_twice():
    full = torch.tensor([[1.0, 2.0], [2.0, -3.0]], dtype=torch.float64)
    assert ig.models.qubo(full).energy(states(2)).tolist() == [0, -3, 1, 2]
    assert ig.models.qubo(full.triu()).energy(states(2)).tolist() == [0, -3, 1, 0]


def test_float64_is_kept():
    target = ig.models.qubo({(0, 1): 16777217, (1, 1): 0.4406867935097715})
    assert target.energy(states(2)).tolist() == [0, 0.4406867935097715, 0,
                                                 16777217 + 0.4406867935097715]


def test_sites_without_terms():
    assert ig.models.qubo({(0, 0): 1}, sites=5).sites == 5
    with pytest.raises(ig.Error, match="sites is 2, but Q has 4 variables"):
        ig.models.qubo(Q, sites=2)


def model(vartype, linear, quadratic, offset):
    """Has the attributes of a dimod.BinaryQuadraticModel."""
    return types.SimpleNamespace(vartype=types.SimpleNamespace(name=vartype), linear=linear,
                                 quadratic=quadratic, offset=offset)


def test_models_of_dimod():
    linear, quadratic = {"a": 0.5, "b": -1, "c": 0}, {("a", "b"): 2, ("c", "a"): -0.75}
    place = {"a": 0, "b": 1, "c": 2}
    for kind in ("BINARY", "SPIN"):
        target = ig.models.qubo(model(kind, linear, quadratic, 3))
        expected = []
        for x in itertools.product([0, 1] if kind == "BINARY" else [-1, 1], repeat=3):
            expected.append(3 + sum(h * x[place[v]] for v, h in linear.items()) +
                            sum(J * x[place[u]] * x[place[v]] for (u, v), J in quadratic.items()))
        assert target.energy(states(3)).tolist() == expected


@pytest.mark.parametrize("wrong, words", [
    (numpy.zeros((2, 3)), r"shape \[2, 3\]; a square matrix is needed"),
    ({"ab": 1}, "key 'ab'; pairs"), ({(0, "b"): 1}, r"key \(0, 'b'\); pairs"),
    ({(0, -1): 1}, r"key \(0, -1\); pairs"), ({(0, 1): float("nan")}, "not finite"),
    (model("TRIT", {}, {}, 0), "the vartype is TRIT")])
def test_what_is_refused(wrong, words):
    with pytest.raises(ig.Error, match=words):
        ig.models.qubo(wrong)


def test_samples_reach_the_least_energy():
    run = ig.sample(ig.models.qubo(Q), "gibbs", chains=20, steps=200, seed=1)
    assert run.energy.min().item() == min(energies(Q, 4))


def test_graphs_of_networkx():
    graph = networkx.Graph()
    graph.add_nodes_from("abcd")  # d is isolated
    graph.add_edge("a", "c", weight=2.5)
    graph.add_edge("c", "b")
    x = states(4)
    cut = 2.5 * (x[:, 0] != x[:, 2]) + 1.0 * (x[:, 2] != x[:, 1])
    assert torch.equal(ig.models.maxcut(edges=graph).energy(x), -cut.double())
    chosen = 1.5 * (x[:, 0] * x[:, 2] + x[:, 2] * x[:, 1]) - x.sum(1)
    assert torch.equal(ig.models.mis(edges=graph, penalty=1.5).energy(x), chosen.double())
    ising = ig.models.ising(edges=graph, coupling=torch.tensor([0.5, -1.0]), field=torch.zeros(4))
    z = 2 * x.double() - 1
    expected = -0.5 * z[:, 0] * z[:, 2] + z[:, 2] * z[:, 1]
    assert torch.equal(ising.energy(x), expected)
    with pytest.raises(ig.Error, match="the graph is directed"):
        ig.models.maxcut(edges=networkx.DiGraph([(0, 1)]))


def weighted_graph():
    """Nodes of several types, the last of them isolated, and a weight of 0."""
    graph = networkx.Graph()
    graph.add_nodes_from([("a", 1), 7, "b", frozenset({2}), None.__class__])
    graph.add_weighted_edges_from([(7, ("a", 1), -0.5), ("b", 7, 2), (frozenset({2}), "b", 0.0)])
    return graph


def test_an_ising_model_of_a_graph_has_its_weights():
    graph = weighted_graph()
    x = states(5)
    z = 2 * x.double() - 1
    pairs = 0.5 * z[:, 0] * z[:, 1] - 2 * z[:, 1] * z[:, 2]
    assert torch.equal(ig.models.ising(edges=graph).energy(x), pairs)
    fields = {7: 0.25, None.__class__: -3}
    assert torch.equal(ig.models.ising(edges=graph, field=fields).energy(x),
                       pairs - 0.25 * z[:, 1] + 3 * z[:, 4])
    own = ig.models.ising(edges=graph, coupling=torch.ones(3), field=torch.zeros(5))
    assert torch.equal(own.energy(x), -z[:, 0] * z[:, 1] - z[:, 1] * z[:, 2] - z[:, 2] * z[:, 3])
    cut = -0.5 * (x[:, 0] != x[:, 1]) + 2.0 * (x[:, 1] != x[:, 2])
    assert torch.equal(ig.models.maxcut(edges=graph).energy(x), -cut.double())
    same = ig.models.potts(edges=graph, field=torch.zeros(5, 3, dtype=torch.float64))
    k = torch.randint(3, (50, 5), generator=torch.Generator().manual_seed(1), dtype=torch.uint8)
    equal = -0.5 * (k[:, 0] == k[:, 1]) + 2.0 * (k[:, 1] == k[:, 2])
    assert torch.equal(same.energy(k), -equal.double())


def test_the_clique_of_a_graph_with_any_nodes():
    graph = networkx.relabel_nodes(networkx.gnm_random_graph(8, 16, seed=2),
                                   {i: ("node", i) for i in range(8)})
    nodes, x = list(graph.nodes), states(8)
    energy = ig.models.maxclique(edges=graph, penalty=2).energy(x)
    for state, value in zip(x.tolist(), energy.tolist()):
        chosen = [node for node, one in zip(nodes, state) if one]
        missing = sum(not graph.has_edge(u, v) for u, v in itertools.combinations(chosen, 2))
        assert value == 2 * missing - len(chosen)
    assert -energy.min().item() == max(map(len, networkx.find_cliques(graph)))


def test_edges_as_a_dict():
    x = states(4)
    z = 2 * x.double() - 1
    edges = {(0, 2): 1.5, (2, 1): -0.25}
    pairs = -1.5 * z[:, 0] * z[:, 2] + 0.25 * z[:, 2] * z[:, 1]
    three = ig.models.ising(edges=edges)
    assert three.sites == 3
    assert torch.equal(three.energy(states(3)), pairs[::2])
    four = ig.models.ising(edges=edges, field={3: 0.5})
    assert torch.equal(four.energy(x), pairs - 0.5 * z[:, 3])
    cut = 1.5 * (x[:, 0] != x[:, 2]) - 0.25 * (x[:, 2] != x[:, 1])
    assert torch.equal(ig.models.maxcut(edges=edges, sites=4).energy(x), -cut.double())


@pytest.mark.parametrize("given, words", [
    ({"edges": {("a", "b"): 1}}, r"edges has the key \('a', 'b'\); pairs"),
    ({"edges": {(0, 1): 1}, "field": {"a": 1}}, "field has the key 'a'; whole numbers"),
    ({"edges": weighted_graph(), "field": {"z": 1}}, "the key 'z', which is no node"),
    ({"edges": torch.tensor([[0, 1]]), "field": torch.zeros(2)}, "coupling"),
    ({"edges": networkx.Graph([("a", "b", {"weight": "heavy"})])}, r"weight 'heavy'; a number")])
def test_what_an_ising_model_refuses(given, words):
    with pytest.raises(ig.Error, match=words):
        ig.models.ising(**given)


@pytest.mark.parametrize("edges,words", [
    ("graph.txt", r"edges is the text 'graph.txt'; a tensor \[E, 2\], a dict {\(i, j\): value} or "
                  r"a networkx graph is needed, and isinglass.load\('maxcut', file\) reads a file"),
    (object(), r"edges is of type object, which torch cannot convert to a tensor; a tensor"),
    ([(0, "a")], "edges is of type list, which torch cannot convert")])
def test_edges_of_another_kind_are_refused(edges, words):
    with pytest.raises(ig.Error, match=words):
        ig.models.maxcut(edges=edges)


@pytest.mark.parametrize("data", [True, False, ["weight"]])
def test_edge_lists_that_networkx_writes(tmp_path, data):
    graph = networkx.gnm_random_graph(9, 14, seed=3)
    networkx.set_edge_attributes(graph, 1.5, "weight")
    networkx.write_edgelist(graph, tmp_path / "edges.txt", data=data)
    weight = 1.0 if data is False else 1.5
    target = ig.load("maxcut", tmp_path / "edges.txt")
    x = target.random_states(20, seed=1)
    ends = sorted(graph.edges)
    cut = sum(weight * (x[:, u] != x[:, v]).double() for u, v in ends)
    assert torch.equal(target.energy(x), -cut)


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_matrices_that_scipy_writes(tmp_path, symmetry):
    from scipy.io import mmwrite
    graph = networkx.gnm_random_graph(9, 14, seed=3)
    for u, v in graph.edges:
        graph.edges[u, v]["weight"] = 0.25 * (u - 2 * v)
    adjacency = scipy.sparse.coo_matrix(networkx.to_numpy_array(graph))
    mmwrite(tmp_path / "graph.mtx", adjacency, symmetry=symmetry)
    target = ig.load("maxcut", tmp_path / "graph.mtx")
    x = states(9)
    assert torch.equal(target.energy(x), ig.models.maxcut(edges=graph).energy(x))
    function = ig.load("qubo", tmp_path / "graph.mtx")
    assert torch.equal(function.energy(x), ig.models.qubo(adjacency).energy(x))
