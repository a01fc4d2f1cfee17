"""What notebooks and Python's prompt show of selections, certificates and figures."""

import pickle

import nbclient
import nbformat
import numpy as np
import polars
import pytest

import convexfs
from convexfs.errors import InputError
from tests.selection.tables import genes

CELLS = (
    "import convexfs\n"
    "from sklearn.datasets import load_breast_cancer\n"
    "table = load_breast_cancer(as_frame=True).frame.iloc[:120]\n"
    "found = convexfs.select(table, target='target', top=3)\nfound",
    "found.certificate",
    "found.ranking().head()",
    "found.plot()",
    "model = convexfs.Relief(n_features_to_select=3).fit(table.drop(columns='target'), "
    "table['target'])\nmodel",
    "model.certificate_",
    "model.plot()",
    "convexfs.load(table, target='target')",
    "markers = convexfs.select(table, target='target', per_class=True, top=3)\nmarkers",
    "markers.plot()",
)
#: Letters of text and of HTML that an output may have; a fitted model shows its problem too.
SHORT, SHORT_HTML = 800, 60_000


@pytest.mark.slow
def test_a_notebook_shows_short_texts_tables_and_figures():
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = [
        next(each.data for each in cell.outputs if each.output_type == "execute_result")
        for cell in notebook.cells
    ]
    for data in shown:
        assert len(data["text/plain"]) < SHORT
        assert len(data.get("text/html", "")) < SHORT_HTML
    selection, certificate, ranking, picture, model, _, bars, dataset, markers, means = shown
    assert selection["text/plain"].startswith("<Selection by relief on the table: 3 of 30")
    assert "<table" in selection["text/html"]
    assert certificate["text/plain"].startswith("<Certificate: proven")
    assert "<b>proven" in certificate["text/html"]
    assert "<table" in ranking["text/html"]
    assert "image/png" in picture
    assert "image/png" in bars
    assert "certificate: proven" in model["text/html"]
    assert markers["text/plain"] == "<ClassMarkers by relief on the table: 0 3, 1 3>"
    assert "<th>markers</th>" in markers["text/html"]
    assert "image/png" in means
    assert dataset["text/plain"] == "<Dataset the table: 120 samples x 30 features, 2 classes>"


@pytest.fixture(scope="module")
def table():
    return genes(60, 30)


def test_tables_are_selected_from_by_the_commands_defaults(table):
    found = convexfs.select(table, target="status")
    from_dataset = convexfs.select(convexfs.load(table, target="status"), "relief")
    np.testing.assert_array_equal(found.support, from_dataset.support)
    assert found.line == "convexfs.select(data, 'relief', target='status')"
    names = found.data.feature_names
    assert convexfs.select(polars.from_pandas(table), target="status").data.feature_names == names


def test_options_of_reading_are_parameters(table):
    spoilt = table.astype({"g1": object}) if "g1" in table else table.copy()
    column = spoilt.columns[3]
    spoilt[column] = spoilt[column].astype(object)
    spoilt.loc[5, column] = "<0.5"
    with pytest.raises(InputError, match="limits='value'"):
        convexfs.select(spoilt, target="status", top=2)
    found = convexfs.select(spoilt, target="status", top=2, limits="value", drop=["patient"])
    assert found.data.X[5, found.data.feature_names.index(column)] == 0.5
    with pytest.raises(InputError, match="select has no parameter 'limit': did you mean limits"):
        convexfs.select(spoilt, target="status", limit="value")
    with pytest.raises(InputError, match="read already: pass target to load"):
        convexfs.select(found.data, target="status")


def test_texts_are_short_and_hold_no_matrix(table):
    found = convexfs.select(table, target="status", top=7)
    text = repr(found)
    assert "7 of 30 features selected: " in text
    assert text.endswith(f"and 2 more; certificate {found.certificate}>")
    assert "array" not in text + repr(found.data)
    assert repr(found.certificate) == f"<Certificate: {found.certificate}>"
    fixed = convexfs.select(table, "logo", target="status").certificate
    assert repr(fixed) == f"<FixedPointCertificate: {fixed}>"


def test_figures_have_a_picture_and_can_be_pickled(table):
    figure = convexfs.select(table, target="status", top=2).plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert len(pickle.loads(pickle.dumps(figure)).axes) == 1
