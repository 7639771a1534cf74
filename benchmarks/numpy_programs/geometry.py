"""Programs of geometry."""

import numpy as np

from .registry import program


@program(
    (50, 500, 20000),
    lambda r, n: (
        r.random((n, 2)) * 2 - 1,
        np.array([[-0.8, -0.7], [0.9, -0.5], [0.6, 0.8], [-0.2, 0.3], [-0.7, 0.9]]),
    ),
)
def points_in_polygon(points, polygon):
    x, y = points[:, 0], points[:, 1]
    inside = np.zeros(len(points), dtype=bool)
    j = len(polygon) - 1
    for i in range(len(polygon)):
        xi, yi = polygon[i]
        xj, yj = polygon[j]
        crosses = ((yi > y) != (yj > y)) & (x < (xj - xi) * (y - yi) / (yj - yi) + xi)
        inside ^= crosses
        j = i
    return inside


@program((50, 500, 5000), lambda r, n: (r.normal(size=(n, 3)), r.normal(size=(n, 3))))
def kabsch(P, Q):
    Pc, Qc = P - P.mean(axis=0), Q - Q.mean(axis=0)
    U, S, Vt = np.linalg.svd(Pc.T @ Qc)
    d = np.sign(np.linalg.det(Vt.T @ U.T))
    D = np.diag([1.0, 1.0, d])
    R = Vt.T @ D @ U.T
    return R, np.sqrt(((Pc @ R.T - Qc) ** 2).sum() / len(P))


@program((40, 400, 20000), lambda r, n: (r.random((n, 3)), r.integers(0, n, (2 * n, 3))))
def vertex_normals(vertices, faces):
    a, b, c = vertices[faces[:, 0]], vertices[faces[:, 1]], vertices[faces[:, 2]]
    normals = np.cross(b - a, c - a)
    out = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(out, faces[:, k], normals)
    lengths = np.linalg.norm(out, axis=1, keepdims=True)
    return out / np.where(lengths > 0, lengths, 1)


@program((30, 200, 1000), lambda r, n: (r.random((n, 2)), r.random((n, 2))))
def hausdorff(a, b):
    d = np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))
    return max(d.min(axis=1).max(), d.min(axis=0).max())
