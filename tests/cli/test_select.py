"""``convexfs select`` with every method and projection there is."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import convexfs
from convexfs.cli import main
from convexfs.methods import estimator_homes

HOMES = estimator_homes()
REGRESSORS = {name for name, home in HOMES.items() if home.target == "numbers"}
#: What each projection says of a component: an attribute, and its meaning.
EXPLAINED = {name: home.component_number for name, home in HOMES.items() if home.component_number}
#: LLFS by cheap settings; everything else as it comes.
SETTINGS = {"llfs": ["--set", "betas=3"], "logo-cv": ["--set", "cv=2"]}


@pytest.fixture
def run(capsys):
    def run(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Forty samples of three features, the first of which tells the classes apart."""
    frame = pd.DataFrame(
        np.random.default_rng(0).standard_normal((40, 3)), columns=["tells", "noise1", "noise2"]
    )
    frame["kind"] = ["no", "yes"] * 20
    frame.loc[frame["kind"] == "yes", "tells"] += 3
    path = tmp_path_factory.mktemp("data") / "small.csv"
    frame.to_csv(path, index=False)
    return path


def test_every_projection_says_what_its_components_explain():
    assert set(EXPLAINED) == {"lfe", "lmnn", "mmc"}


@pytest.mark.parametrize("method", sorted(HOMES.keys() - EXPLAINED.keys() - REGRESSORS))
def test_every_selector_prefers_what_tells_and_can_print_plot_and_write(
    run, table, tmp_path, method
):
    out, picture = tmp_path / "few.csv", tmp_path / "few.png"
    words = ["select", table, "--target", "kind", "--method", method, "--out", out]
    top = [] if method == "logo-cv" else ["--top", 1]
    code, printed, _ = run(*words, "--plot", picture, *top, *SETTINGS.get(method, []))
    assert code == 0
    assert "certificate" in printed
    assert convexfs.load(out, "kind").feature_names[:1] == ("tells",)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_table_of_long_names_fits_80_columns(run, table, tmp_path):
    long = tmp_path / "long.csv"
    long.write_text(table.read_text().replace("tells", "a feature of long a name"))
    printed = run("select", long, "--target", "kind")[1].partition("solver ")[0]
    assert "a feature of long a name" in printed
    assert " q " in printed
    assert max(len(line.rstrip()) for line in printed.splitlines()) <= 80


@pytest.mark.parametrize("method", EXPLAINED)
def test_every_projection_prints_plots_and_writes_its_components(run, table, tmp_path, method):
    out, picture = tmp_path / "few.csv", tmp_path / "few.png"
    words = ["select", table, "--target", "kind", "--method", method, "--top", 1]
    code, printed, _ = run(*words, "--out", out, "--plot", picture)
    assert code == 0
    assert "1 components of 3 features" in printed
    assert EXPLAINED[method][1] in printed
    assert "a projection selects none" in printed
    projected = convexfs.load(out, "kind")
    assert projected.feature_names == ("component_1",)
    assert projected.n_samples == 40
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_json_has_components(run, table):
    words = ["select", table, "--target", "kind", "--json", "--method"]
    projected = json.loads(run(*words, "lfe")[1])
    assert projected["selected"] is None
    assert projected["certificate"]["ok"] is True
    assert projected["components_are"] == "eigenvalue of Sigma"
    assert projected["weights"]["tells"] == max(projected["weights"].values())


def test_weights_of_a_projection_are_the_diagonal_of_its_metric(run):
    data = convexfs.load("wine")
    record = json.loads(run("select", "wine", "--method", "lfe", "--top", 2, "--json")[1])
    scaled = data.scaled()
    model = convexfs.LFE(n_components=2).fit(scaled.X, scaled.y)
    expected = dict(zip(data.feature_names, model.metric_.diagonal().tolist(), strict=True))
    assert record["weights"] == pytest.approx(expected)
    assert record["components"] == pytest.approx(model.eigenvalues_[:2].tolist())


def test_projected_data_use_the_training_rows_scale_for_all(run, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), np.arange(30) % 2
    source, out = tmp_path / "split.npz", tmp_path / "out.npz"
    np.savez(source, X=X, y=y, split=np.repeat([0, 1], 15))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run("select", source, "--method", "mmc", "--out", out)[0] == 0
    projected = convexfs.load(out)
    assert projected.n_samples == 30
    np.testing.assert_allclose(projected.X[:15].mean(axis=0), 0, atol=1e-12)


@pytest.mark.filterwarnings("always")
def test_a_projection_without_components_writes_nothing(run, tmp_path):
    source, out = tmp_path / "line.csv", tmp_path / "out.csv"
    source.write_text("a,kind\n" + "".join(f"{n},{n % 2}\n" for n in range(6)))
    code, _, err = run("select", source, "--target", "kind", "--method", "lfe", "--out", out)
    assert code == 2
    assert "warning: no direction has a positive margin, so the metric is 0" in err
    assert "lfe found no component, so there is nothing to write" in err
    assert not out.exists()


def test_columns_named_between_commas_are_left_out(run, table, tmp_path):
    frame = pd.read_csv(table)
    frame.insert(0, "patient, ward", [f"p{n % 20}" for n in range(40)])
    frame.to_csv(tmp_path / "ids.csv", index=False)
    words = ["select", tmp_path / "ids.csv", "--target", "kind", "--json"]
    record = json.loads(run(*words, "--drop", '"patient, ward", noise1')[1])
    assert list(record["weights"]) == ["tells", "noise2"]
    code, _, err = run(*words)
    assert code == 2
    assert "--drop '\"patient, ward\"'" in err


BAD_LINES = [
    (["simba", "--solver", "SCS"], "not convex, which no solver can do for it: leave the solver"),
    (["relief", "--top", "0"], "--top, of 4 features, must be a number of at least 1"),
    (
        ["relief", "--seed", "-1"],
        "--seed must be an integer of at least 0 and at most 4294967295",
    ),
    (["relief", "--drop", "sepal"], "iris has no column 'sepal' to drop; its last columns"),
    (["mmc", "--top", "9"], "--top, of 4 features, must be a number of at least 1 and at most 4"),
    (["relief", "--set", "neighbors=2"], "did you mean n_neighbors?"),
    (["lfe", "--set", "n_components=some"], "n_components must be a number, None or 'cv'"),
    (["mrmr"], "the papers' experiments use it, in scripts/papers/baselines"),
    (["simbb"], "unknown method 'simbb': did you mean simba?"),
    (["lmnn", "--solver", "HIGHS"], "HIGHS cannot take SDP"),
]


@pytest.mark.parametrize(("words", "message"), BAD_LINES, ids=lambda v: " ".join(v)[:40])
def test_bad_lines_get_one_line_and_exit_code_2(run, words, message):
    code, out, err = run("select", "iris", "--method", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("convexfs: error: ")
    assert err.count("\n") == 1


@pytest.fixture(scope="module")
def subjects(tmp_path_factory):
    """Twenty subjects, each measured four times in one of two batches, all of it noise."""
    rng = np.random.default_rng(0)
    subject = np.repeat(np.arange(20), 4)
    X = rng.standard_normal((20, 30))[subject] + 0.05 * rng.standard_normal((80, 30))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(30)])
    frame["subject"] = [f"s{number}" for number in subject]
    frame["batch"] = np.where(subject < 10, "first", "second")
    frame["kind"] = rng.permutation(np.arange(20) % 2)[subject]
    path = tmp_path_factory.mktemp("data") / "subjects.csv"
    frame.to_csv(path, index=False)
    return path


def test_the_last_lines_say_how_sure_a_selection_is(run):
    code, printed, _ = run("select", "twonorm:n=120,noise=30")
    assert code == 0
    last = printed.splitlines()[-9:]
    assert all(len(line) <= 80 for line in printed.splitlines())
    whole = "\n".join(last).replace("\n" + " " * 19, " ").splitlines()
    lines = {line[:19].strip(): line[19:] for line in whole}
    assert list(lines) == [
        "shadow columns", "selected", "family-wise 5 %", "held-out error", "errors by class",
        "smallest list", "scaling", "certificate",
    ]  # fmt: skip
    assert lines["shadow columns"] == "p = 0.005 for any signal (200 permutations)"
    assert re.search(r"of 50 at FDR 10 %; at most \d+ false \(95 % confid", lines["selected"])
    assert re.search(r"0\.\d+ \[0.\d+, 0.\d+\] balanced, chance 0.50", lines["held-out error"])
    assert re.search(r"wrong: \w+ \d+/60, \w+ \d+/60", lines["errors by class"])
    assert "predict as well as any number (--curve)" in lines["smallest list"]
    assert lines["scaling"] == "features standardised"
    assert lines["certificate"].startswith("proven (")
    assert lines["certificate"].endswith(
        "the problem is solved; this proves nothing about the features"
    )


def test_json_has_what_was_tested(run):
    words = ["select", "twonorm:n=120,noise=30", "--json", "--fwer", "0.05"]
    record = json.loads(run(*words)[1])
    tested = record["inference"]["permutations"]
    assert record["parameters"]["n_neighbors"] == 0.25
    assert (tested["control"], tested["level"], tested["global_pvalue"]) == ("fwer", 0.05, 1 / 201)
    below = [name for name, p in tested["max_t_pvalues"].items() if p <= 0.05]
    assert record["selected"] == below
    curve = record["inference"]["curve"]
    assert 0 <= curve["interval"][0] <= curve["honest_error"] <= curve["interval"][1] < 0.5
    assert np.sum(curve["confusion"]) == 120
    assert "this proves nothing about the features" in record["told"]["certificate"]
    looser = json.loads(run(*words[:3], "--fdr", "0.3")[1])
    assert len(looser["selected"]) > len(below)


@pytest.mark.filterwarnings("always::convexfs.errors.ConvexfsWarning")
def test_nothing_selected_is_an_answer(run, tmp_path):
    rng = np.random.default_rng(0)
    source, out, plot = tmp_path / "noise.npz", tmp_path / "out.csv", tmp_path / "noise.svg"
    np.savez(source, X=rng.standard_normal((40, 30)), y=np.arange(40) % 2)
    code, printed, complaints = run("select", source, "--plot", plot, "--out", out)
    assert code == 0
    assert "nothing is selected: the smallest q-value is" in complaints
    assert "0 of 30 at FDR 10 %" in printed
    assert "nothing is selected: no columns are written" in complaints
    assert not out.exists()
    assert plot.exists()


@pytest.mark.filterwarnings("always::convexfs.errors.ConvexfsWarning")
def test_a_gate_asks_for_a_significant_best_feature(run):
    words = ["select", "twonorm:n=20,noise=40,seed=3", "--json", "--fdr", "0.9"]
    free = json.loads(run(*words)[1])
    best = min(free["inference"]["permutations"]["max_t_pvalues"].values())
    assert free["selected"]
    assert best > 0.006, "the signal must be too weak for the gate"
    gated = json.loads(run(*words, "--gate", "0.006")[1])
    assert gated["selected"] == []


def test_sparse_methods_are_not_tested_feature_by_feature(run):
    code, printed, _ = run("select", "twonorm:n=60,noise=30", "--method", "logo")
    assert code == 0
    assert "permuted labels    not tested" in printed
    assert "permuted labels    not tested" in run("select", "iris", "--top", 2)[1]


def test_the_curve_chooses_how_many(run, tmp_path):
    plot = tmp_path / "curve.svg"
    words = ["select", "twonorm:n=120,noise=30", "--curve", "--json", "--plot", plot]
    record = json.loads(run(*words)[1])
    assert len(record["selected"]) == record["inference"]["curve"]["chosen"]
    assert "whole curve" in plot.read_text()


@pytest.mark.filterwarnings("always::convexfs.errors.ConvexfsWarning")
def test_groups_and_blocks_are_columns_of_the_file(run, subjects):
    words = ["select", subjects, "--target", "kind", "--drop"]
    _, free, complaints = run(*words, "subject,batch")
    assert "of the rows are copies of others" in complaints
    assert "p = 0.001" in free
    code, held, _ = run(*words, "batch", "--groups", "subject")
    assert code == 0
    assert "0 of 30 at FDR 10 %" in held
    record = json.loads(
        run(
            "select",
            subjects,
            "--target",
            "kind",
            "--json",
            "--groups",
            "subject",
            "--blocks",
            "batch",
        )[1]
    )
    assert record["selected"] == []
    permuted = record["inference"]["rows_permuted"]
    assert re.fullmatch(r"in \d+ groups of rows within \d+ blocks", permuted)
    assert set(record["weights"]) == {f"x{j}" for j in range(30)}


@pytest.mark.filterwarnings("always::convexfs.errors.ConvexfsWarning")
def test_groups_of_an_npz_file_are_an_array_of_it(run, tmp_path):
    rng = np.random.default_rng(0)
    source = tmp_path / "groups.npz"
    np.savez(
        source, X=rng.standard_normal((40, 5)), y=np.arange(40) // 4 % 2, who=np.arange(40) // 4
    )
    code, printed, _ = run("select", source, "--groups", "who")
    assert code == 0
    assert "shadow columns" in printed


def test_halves_of_the_samples_select_again(run, tmp_path):
    pytest.importorskip("convexfs.inference.stability")
    plot = tmp_path / "stability.png"
    words = ["select", "twonorm:n=150,noise=40", "--stability", "--top", 12, "--plot", plot]
    code, printed, _ = run(*words)
    assert code == 0
    assert "in a share of" in printed
    assert "rule's certificate proven" in printed
    assert plot.read_bytes().startswith(b"\x89PNG")
    record = json.loads(run(*words, "--json")[1])["inference"]["stability"]
    assert max(record["probabilities"].values()) >= record["threshold"]


@pytest.mark.parametrize("method", [[], ["--method", "logo"]])
def test_knockoffs_select_by_a_sparse_method(run, method):
    pytest.importorskip("convexfs.inference.knockoffs")
    words = ["select", "twonorm:n=120,noise=10", "--knockoffs", "0.3", *method]
    code, printed, _ = run(*words)
    assert code == 0
    told = " ".join(printed.split())
    assert "at a false discovery rate of 0.3 (knockoff+; none or at least 4)" in told
    assert "permuted labels    not tested" in printed
    assert json.loads(run(*words, "--json")[1])["inference"]["fdr"] == 0.3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--knockoffs", "--set", "lam=2"], "--set and --solver are of a method: name it"),
        (["--fdr", "0.1", "--fwer", "0.05"], "--fdr and --fwer exclude each other"),
        (["--fdr", "0.1", "--top", "2"], "--top K and --fdr both say how many"),
        (["--fdr", "2"], "--fdr must be a number above 0 and below 1, not 2"),
        (["--curve", "--method", "mmc"], "mmc is a projection and selects no features: no --curve"),
        (["--groups", "who"], "iris is no file with columns"),
        (["--top", "2", "--groups", "who"], "--groups and --blocks need a test: use --fdr"),
        (["--permutations", "5"], "n_permutations=5 is too few"),
        (["--curve", "--permutations", "99"], "--permutations and --gate belong to the test"),
        (["--gate", "0.001"], "so nothing could pass 0.001: use at least 999"),
        (["--fwer", "0.001", "--permutations", "99"], "use at least 999"),
    ],
)
def test_rules_that_cannot_be_are_refused(run, words, message):
    code, printed, complaints = run("select", "iris", *words)
    assert (code, printed) == (2, "")
    assert message in complaints
    assert complaints.count("\n") == 1


def test_a_column_that_is_not_there_is_refused(run, subjects):
    code, _, complaints = run("select", subjects, "--target", "kind", "--groups", "subjct")
    assert code == 2
    assert "has no column 'subjct'; did you mean subject?" in complaints
