"""Compiled steps of HDBSCAN: spanning trees, and the hierarchy of clusters in a tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.compile import float_kernel, kernel
from pyke.use.neighbours._kernels import TILE, tile_squares


class Growth(NamedTuple):
    """State of Prim's algorithm. The points outside the tree are stored before those inside.

    `state` is (number of points outside, position of the point that joins next).
    """

    points: NDArray[np.float32]  # (d, n)
    core: NDArray[np.float32]  # (n,): squared core distances
    names: NDArray[np.int64]  # (n,): number of the point at each position
    best: NDArray[np.float32]  # (n,): weight of the lightest edge to the tree
    source: NDArray[np.int64]  # (n,): point of the tree at which that edge starts
    state: NDArray[np.int64]  # (2,)


@float_kernel
def grow_tree(
    growth: Growth,
    begin: int,
    end: int,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    weights: NDArray[np.float32],
) -> None:
    """Growth → edges begin:end of the minimum spanning tree, with squared weights.

    Prim's algorithm under mutual reachability, max(core(x), core(y), d(x, y)). A point that joins
    the tree swaps places with the last point outside. All arrays of `growth` change.
    """
    points, core, names = growth.points, growth.core, growth.names
    best, source = growth.best, growth.source
    tile = np.empty(TILE, np.float32)
    query = np.empty((1, points.shape[0]), np.float32)
    outside, newest = growth.state[0], growth.state[1]
    for edge in range(begin, end):
        name, reach = names[newest], core[newest]
        outside -= 1
        # Loops compile ten times as fast as assignments of slices, which check their shapes.
        for j in range(points.shape[0]):
            query[0, j] = points[j, newest]
            points[j, newest] = points[j, outside]
        names[newest], core[newest] = names[outside], core[outside]
        best[newest], source[newest] = best[outside], source[outside]
        newest, lightest = 0, np.float32(np.inf)
        for first in range(0, outside, TILE):
            size = min(TILE, outside - first)
            tile_squares(points, np.uintp(first), np.uintp(size), query, np.uintp(0), tile)
            for t in range(size):
                x = first + t
                value = max(tile[t], core[x], reach)
                if value < best[x]:
                    best[x], source[x] = value, name
                if best[x] < lightest:
                    newest, lightest = x, best[x]
        left[edge], right[edge], weights[edge] = source[newest], names[newest], lightest
    growth.state[0], growth.state[1] = outside, newest


@kernel
def _root(parents: NDArray[np.int64], x: int) -> int:
    """Root of x in a disjoint-set forest; halves the path to it."""
    while parents[x] != x:
        parents[x] = parents[parents[x]]
        x = parents[x]
    return x


@kernel
def spanning_forest(
    neighbours: NDArray[np.int32],
    squares: NDArray[np.float32],
    ascending: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    weights: NDArray[np.float32],
) -> None:
    """Neighbours (n, k) with weights → the n − 1 edges of the minimum spanning tree (Kruskal).

    `ascending` are the positions of the weights from the lightest on, row by row. Parts that no
    edge connects are joined by edges of infinite weight.
    """
    n, k = neighbours.shape
    parents, used = np.arange(n), 0
    for at in ascending:
        near, column = at // k, at % k
        far = neighbours[near, column]
        a, b = _root(parents, near), _root(parents, far)
        if a != b:
            parents[b] = a
            left[used], right[used], weights[used] = near, far, squares[near, column]
            used += 1
    for x in range(1, n):
        a, b = _root(parents, 0), _root(parents, x)
        if a != b:
            parents[b] = a
            left[used], right[used], weights[used] = 0, x, np.float32(np.inf)
            used += 1


class Hierarchy(NamedTuple):
    """Single linkage of n points. Node n + i joins two nodes; the nodes below n are the points."""

    children: NDArray[np.int64]  # (n − 1, 2): the newer node first
    distances: NDArray[np.float64]  # (n − 1,): the distance at which they are joined
    sizes: NDArray[np.int64]  # (2n − 1,): points in each node


@kernel
def link_points(
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    children: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> None:
    """Edges of a spanning tree by ascending weight → children and sizes of a `Hierarchy`."""
    n = left.shape[0] + 1
    parents = np.arange(2 * n - 1)
    for x in range(n):
        sizes[x] = 1
    for edge in range(n - 1):
        a, b = _root(parents, left[edge]), _root(parents, right[edge])
        children[edge, 0], children[edge, 1] = max(a, b), min(a, b)
        sizes[n + edge] = sizes[a] + sizes[b]
        parents[a] = parents[b] = n + edge


@kernel
def condense(
    hierarchy: Hierarchy,
    min_cluster_size: int,
    cluster_of: NDArray[np.int64],
    parents: NDArray[np.int64],
    scores: NDArray[np.float32],
) -> int:
    """Hierarchy → tree of clusters with at least `min_cluster_size` points; returns their number.

    cluster_of (2n − 1) is the last cluster that each node was in, −1 if it left at distance ∞.
    Cluster 0 has all points. parents (clusters) is the cluster that each was split from.
    scores (clusters) = Σ λ(point leaves the cluster) − λ(cluster begins), with λ = 1 / distance.
    """
    n = hierarchy.children.shape[0] + 1
    queue, queued = np.empty(2 * n - 1, np.int64), 1  # breadth first: this numbers the clusters
    is_small = np.zeros(2 * n - 1, np.bool_)
    queue[0], cluster_of[2 * n - 2], parents[0], scores[0] = 2 * n - 2, 0, -1, 0
    clusters = 1
    for at in range(2 * n - 1):
        node = queue[at]
        if node < n:
            continue
        cluster, distance = cluster_of[node], hierarchy.distances[node - n]
        density = np.float32(1.0 / distance) if distance > 0 else np.float32(np.inf)
        a, b = hierarchy.children[node - n, 0], hierarchy.children[node - n, 1]
        splits = min(hierarchy.sizes[a], hierarchy.sizes[b]) >= min_cluster_size
        for child in (a, b):
            queue[queued] = child
            queued += 1
            size = hierarchy.sizes[child]
            cluster_of[child] = cluster
            if is_small[node]:
                is_small[child] = True
            elif splits:
                change = density * np.float32(size)
                cluster_of[child], parents[clusters], scores[clusters] = clusters, cluster, -change
                scores[cluster] += change
                clusters += 1
            elif size < min_cluster_size:
                is_small[child] = True
                if density == 0:
                    cluster_of[child] = -1
                for _ in range(size):
                    scores[cluster] += density
    return clusters


@kernel
def select_clusters(
    parents: NDArray[np.int64], scores: NDArray[np.float32], labels: NDArray[np.int64]
) -> None:
    """Tree of clusters → labels (clusters): the selected cluster that each belongs to, or −1.

    Excess of mass: a cluster is selected unless the clusters below it have a higher total score.
    Cluster 0, all points, is never selected.
    """
    clusters = parents.shape[0]
    best_below, selected = np.zeros(clusters), np.zeros(clusters, np.bool_)
    for c in range(clusters - 1, 0, -1):
        score = scores[c] if scores[c] > 0 else 0.0
        selected[c] = not best_below[c] > score
        best_below[parents[c]] += score if selected[c] else best_below[c]
    number = 0
    labels[0] = -1
    for c in range(1, clusters):
        labels[c] = labels[parents[c]]
        if labels[c] < 0 and selected[c]:
            labels[c] = number
            number += 1
