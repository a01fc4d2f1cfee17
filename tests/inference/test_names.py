import pytest

import convexfs.inference


def test_the_names_are_listed_and_others_are_refused():
    names = {"permutation_test", "shadow_test", "selection_curve"}
    names |= {"KnockoffSelector", "StabilitySelector"}
    assert set(convexfs.inference.__all__) == names
    assert names <= set(dir(convexfs.inference))
    with pytest.raises(AttributeError, match="no attribute 'bootstrap'"):
        convexfs.inference.bootstrap  # noqa: B018
