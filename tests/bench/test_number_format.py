"""Numbers read well in tables."""

from kinloop.bench.number_format import digits, magnitude, percent, percent_range, ratio


def test_numbers_read_well():
    assert digits(1234.5) == "1234" and digits(0.1234) == "0.123" and digits(None) == "-"
    assert ratio(123.4) == "123x" and ratio(2.345) == "2.35x" and ratio(None) == "-"
    assert magnitude(0.0) == "0" and magnitude(1.2e-6) == "1e-6" and magnitude(2e-15) == "2e-15"
    assert percent(-12.34) == "-12.3 %" and percent(None) == "-"
    assert percent_range([3.0, -1.4]) == "-1 to +3 %" and percent_range([]) == "-"
