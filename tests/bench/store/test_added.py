"""The options that were added later, as the methods and groups declare them."""

from bench.config.choices import REGISTRIES, members, options_of
from bench.store.record import ADDED, SINCE


def test_labels_that_were_added_later_are_those_with_a_neutral_value():
    declared = {}
    for group in REGISTRIES:
        for member in members(group):
            for name, option in options_of(group, member).items():
                label = name if group == "algo" else f"{group}.{name}"
                if option.neutral and option.neutral.value is not None and label not in SINCE:
                    declared.setdefault((group, member), {})[label] = option.neutral.value
    assert declared == ADDED
