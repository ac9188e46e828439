"""Makes the samples and comparisons beside this file importable from the tests of every format."""
