"""Benchmarks, data sets and metrics: what is measured, and how it is scored."""
