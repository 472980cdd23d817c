"""Amounts of nodes: numbers read from fields, fixed counts, ranges of autoscaling, and their products."""

from __future__ import annotations

from gpulint.adapters.nodes.pool import Amount
from gpulint.workload import Field, Unknown

COUNT_MAX = 1_000_000
"""No cluster has more nodes; a larger number is a mistake."""
DIGITS_MAX = 9
AT_LEAST_ONE = "at least one"
"""Marks an unknown number of groups that is not zero."""
NO_NUMBER = Unknown("it is not a number of nodes")


def read_number(field: Field | None) -> Field | None:
    """Return a field as a whole number; unknown if it is something else, None if it is absent."""
    if field is None or isinstance(field.value, Unknown):
        return field
    value = field.value
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= DIGITS_MAX:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= COUNT_MAX:
        return Field(NO_NUMBER, field.origins)
    return Field(value, field.origins, field.source)


def make_default(number: int, program: str) -> Field:
    """Return the number that a program uses if a file states none."""
    return Field(number, source=f"default of {program}")


def make_fixed(field: Field | None) -> Amount:
    """Return an amount that does not vary."""
    number = read_number(field)
    return Amount(number, number, number)


def make_range(least: Field | None, most: Field | None, start: Field | None = None) -> Amount:
    """Return an amount that varies between two numbers, and with which it is created."""
    return Amount(read_number(least), read_number(most), read_number(start))


def multiply(amount: Amount, factor: Field) -> Amount:
    """Return an amount for each of several groups of nodes. At least one group exists if their number is unknown."""
    least, most, start = (_multiply_field(field, factor) for field in (amount.least, amount.most, amount.start))
    if isinstance(factor.value, Unknown) and factor.value.category == AT_LEAST_ONE:
        least = amount.least
    return amount._replace(least=least, most=most, start=start)


def _multiply_field(field: Field | None, factor: Field) -> Field | None:
    if field is None or factor.value == 1:
        return field
    if field.value == 0 or factor.value == 0:
        return Field(0, (*field.origins, *factor.origins), field.source)
    unknown = next((part for part in (field, factor) if isinstance(part.value, Unknown)), None)
    origins = tuple(dict.fromkeys((*field.origins, *factor.origins)))
    if unknown is not None:
        return Field(unknown.value, origins)
    if not isinstance(field.value, int) or not isinstance(factor.value, int):
        return Field(NO_NUMBER, origins)
    product = Field(field.value * factor.value, origins, field.source)
    return read_number(product)


def add(first: Field, second: Field) -> Field:
    """Return the sum of two numbers; unknown if one is."""
    origins = tuple(dict.fromkeys((*first.origins, *second.origins)))
    unknown = next((part.value for part in (first, second) if isinstance(part.value, Unknown)), None)
    if unknown is not None or not isinstance(first.value, int) or not isinstance(second.value, int):
        return Field(unknown or NO_NUMBER, origins)
    return Field(first.value + second.value, origins, first.source or second.source)
