"""Networks that point one way. W: the matrix to push by, or a pair of it and that to pull by."""

import numpy as np

from tests.algorithms.literal.common import root


def sgp(X, W, G, kind, T, o):
    """W, here and below: the matrix to push by, or a pair of it and that to pull by."""
    A = W[0] if isinstance(W, tuple) else W
    n, out, U, w = len(X), [X], X, np.ones(len(X))
    for t in range(T):
        U, w = A @ (U - o["eta"] * root(kind, n, t, T) * G(X, t)), A @ w
        X = np.stack([U[i] / w[i] for i in range(n)])
        out.append(X)
    return out


def push_diging(X, W, G, kind, T, o):
    A = W[0] if isinstance(W, tuple) else W
    n, out, U, w = len(X), [X], X, np.ones(len(X))
    Y = V = G(X, 0)
    for t in range(T):
        U, w = A @ (U - o["eta"] * root(kind, n, t, T) * Y), A @ w
        X = np.stack([U[i] / w[i] for i in range(n)])
        V_new = G(X, t + 1)
        Y, V = A @ Y + V_new - V, V_new
        out.append(X)
    return out


def push_pull(X, W, G, kind, T, o):
    C, R = W if isinstance(W, tuple) else (W, W)
    n, out = len(X), [X]
    Y = V = G(X, 0)
    for t in range(T):
        X = R @ (X - o["eta"] * root(kind, n, t, T) * Y)
        V_new = G(X, t + 1)
        Y, V = C @ Y + V_new - V, V_new
        out.append(X)
    return out
