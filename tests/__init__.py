"""Tests of the course; a package, so that ``tests.answers`` can be imported."""
