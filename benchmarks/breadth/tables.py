"""Tables: groups, joins, windows, pivots, as people without a data base write them in NumPy."""

import numpy as np

from .registry import SAME, program


def sales(rng, n, groups):
    return rng.integers(0, groups, n), rng.gamma(2, 10, n), np.zeros(groups)


def group_torch(key, value, zeros):
    import torch

    n = len(zeros)
    count = torch.bincount(key, minlength=n)
    mean = torch.bincount(key, value, n) / count.clamp(min=1)
    return mean, torch.bincount(key, (value - mean[key]) ** 2, n) / count.clamp(min=1), count


@program(sales, (200000, 500), (30, 4), torch=group_torch)
def group_means(key, value, zeros):
    n = len(zeros)
    count = np.bincount(key, minlength=n)
    mean = np.bincount(key, value, n) / np.maximum(count, 1)
    var = np.bincount(key, (value - mean[key]) ** 2, n) / np.maximum(count, 1)
    return mean, var, count


@program(sales, (100000, 500), (30, 4))
def group_extremes(key, value, zeros):
    high, low = np.full(len(zeros), -np.inf), np.full(len(zeros), np.inf)
    np.maximum.at(high, key, value)
    np.minimum.at(low, key, value)
    return high - low


def two_tables(rng, n, m):
    return np.sort(rng.choice(4 * m, m, replace=False)), rng.random(m), rng.integers(0, 4 * m, n)


@program(two_tables, (100000, 5000), (20, 6), jax=SAME)
def left_join(index, price, key):
    """Prices by key, and nothing where there is no such key."""
    place = np.minimum(np.searchsorted(index, key), len(index) - 1)
    found = index[place] == key
    return np.where(found, price[place], np.nan), found.sum()


@program(sales, (50000, 500), (60, 4))
def rolling_maximum(key, value, zeros):
    windows = np.lib.stride_tricks.sliding_window_view(value, 24)
    return windows.max(1), windows.min(1), value[23:] / windows.max(1)


@program(sales, (50000, 500), (30, 4), jax=SAME)
def rank_in_group(key, value, zeros):
    """The place of each row in its group, by value."""
    order = np.lexsort((value, key))
    sorted_key = key[order]
    first = np.searchsorted(sorted_key, sorted_key)
    rank = np.arange(len(key)) - first
    return rank[np.argsort(order)]


def ages(rng, n):
    return rng.integers(0, 90, n), rng.gamma(3, 1000, n), rng.random(n)


@program(ages, (200000,), (40,))
def histogram_by_class(age, income, weight):
    bounds = np.array([0, 18, 30, 45, 65, 120])
    group = np.digitize(age, bounds) - 1
    count, edges = np.histogram(income, 40, (0.0, 12000.0), weights=weight)
    return np.bincount(group, income, 5) / np.maximum(np.bincount(group, minlength=5), 1), count


@program(ages, (200000,), (40,), jax=SAME)
def filtered_totals(age, income, weight):
    """A query with conditions: where, and, between, then sums."""
    chosen = (age >= 18) & (age < 65) & (weight > 0.1)
    pay = np.where(chosen, income * weight, 0)
    tax = np.where(pay > 2000, 0.3 * (pay - 2000), 0)
    n = chosen.sum()
    return n, pay.sum() / n, tax.sum(), np.where(chosen, income, -np.inf).max()
