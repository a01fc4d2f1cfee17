import pytest

from convexfs.data import load
from convexfs.data.specs import file_behind, split_spec
from convexfs.errors import InputError

CSV = "a;b,c;age;kind\n" + "1;2;3;x\n2;1;4;y\n" * 4


def test_words_say_what_the_parameters_say(tmp_path):
    path = tmp_path / "lab.csv"
    path.write_text(CSV)
    said = load(f"{path} --target kind --drop '\"b,c\",age' --sep ';'")
    assert said.feature_names == ("a",)
    assert said.name.endswith("--sep ';'")
    assert load(path, "kind", drop=["b,c", "age"], sep=";").digest == said.digest
    assert file_behind(f"{path} --target kind") == path


def test_a_file_whose_name_has_the_mark_is_a_file(tmp_path):
    path = tmp_path / "lab --drop a.csv"
    path.write_text(CSV)
    assert load(path, "kind", sep=";").n_features == 3
    assert file_behind(str(path)) == path


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("iris --drp a", "says '--drp'; did you mean drop"),
        ("iris --drop", "without a value: write --drop NAME"),
        ("iris --drop a b", "says 'b'"),
        ("iris --drop 'a", "No closing quotation"),
        ("iris --target kind", "iris has its own classes"),
    ],
)
def test_words_that_say_nothing_are_named(spec, message):
    with pytest.raises(InputError, match=message):
        load(spec)


def test_features_of_a_bundled_set_can_be_left_out():
    assert load("iris --drop 'sepal length (cm)'").n_features == 3
    assert split_spec("spiral:noise=5") == ("spiral:noise=5", {})
