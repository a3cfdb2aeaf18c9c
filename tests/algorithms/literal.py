"""The rules of the papers, written out node by node in NumPy, as plainly as possible."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bench.base.layout import Layout

Rule = Callable[[np.ndarray, np.ndarray, Callable[[np.ndarray, int], np.ndarray], str, int, dict], list[np.ndarray]]


PARTS = [range(2), range(2, 5)]
LAYOUT = Layout({"weight": (1, 2), "bias": (3,)})
"""Five parameters in two tensors."""


def root(kind: str, n: int, t: int, T: int) -> float:
    """√(n/t), √(n/T) or 1; 0 at t = 0 of a diminishing schedule."""
    if kind == "diminishing":
        return math.sqrt(n / t) if t > 0 else 0.0
    return math.sqrt(n / T) if kind == "fixed" else 1.0


def dsgd(X, W, G, kind, T, o):
    n, out = len(X), [X]
    for t in range(T):
        eta = o["eta"] * root(kind, n, t, T)
        mixed = W @ X if o.get("gossip") == "twice" else X
        X = W @ (mixed - eta * G(X, t))
        out.append(X)
    return out


def dsgt(X, W, G, kind, T, o):
    n, out = len(X), [X]
    V = U = G(X, 0)
    for t in range(T):
        eta = o["eta"] * root(kind, n, t, T)
        X = W @ ((W @ X if o.get("gossip") == "twice" else X) - eta * U)
        V_new = G(X, t + 1)
        U = W @ U + V_new - V
        V = V_new
        out.append(X)
    return out


def dasagt(X, W, G, kind, T, o):
    n, out = len(X), [X]
    Z, U, V = (np.zeros_like(X) for _ in range(3))
    for t in range(T):
        if kind == "constant":
            eta, alpha = o["eta"], o["alpha"]
        else:
            eta = o["eta"] * (root(kind, n, t, T) if kind == "diminishing" else 1.0)
            alpha = min(root(kind, n, t, T), 0.3)
        V_new = G(X, t)
        U_half = U + V_new - V
        X = W @ ((1 - alpha) * X + alpha * (X - eta * Z))
        Z = W @ ((1 - alpha) * Z + alpha * (V_new if o.get("average") == "gradient" else U_half))
        U, V = W @ U_half, V_new
        out.append(X)
    return out


def dnasa(X, W, G, kind, T, o):
    n, out = len(X), [X]
    Z, U, V = (np.zeros_like(X) for _ in range(3))
    for t in range(T):
        if kind == "constant":
            eta, alpha = o["multiplier"], o["alpha"]
        else:
            h = t if kind == "diminishing" else T
            eta = o["multiplier"] * n**0.25 / h**0.75 if h > 0 else 0.0
            alpha = min(1.0, math.sqrt(n / h)) if h > 0 else 0.0
        X_half = X.copy()
        for i in range(n):
            for part in PARTS if o.get("normalize") == "tensor" else [range(len(Z[i]))]:
                length = math.sqrt(sum(Z[i][j] ** 2 for j in part))
                for j in part:
                    if length > 0:
                        X_half[i][j] = X[i][j] - eta * Z[i][j] / length
        V_new = G(X, t)
        U_half = U + V_new - V
        Z_half = (1 - alpha) * Z + alpha * (V_new if o.get("average") == "gradient" else U_half)
        X, U, Z, V = W @ X_half, W @ U_half, W @ Z_half, V_new
        out.append(X)
    return out


def d2(X, W, G, kind, T, o):
    n, out = len(X), [X]
    X_old, step_old = X, np.zeros_like(X)
    for t in range(T):
        step = o["eta"] * root(kind, n, t, T) * G(X, t)
        X, X_old = W @ (2 * X - X_old - step + step_old), X
        step_old = step
        out.append(X)
    return out


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


def choco(X, W, G, kind, T, o):
    """Uncompressed: C is the identity."""
    n, out, H, gamma = len(X), [X], np.zeros_like(X), o["gamma"]
    for t in range(T):
        half = X - o["eta"] * root(kind, n, t, T) * G(X, t)
        if o.get("order") == "overlapped":
            X = half + gamma * (W @ H - H)
            H = H + (X - H)
        else:
            H = H + (half - H)
            X = half + gamma * (W @ H - H)
        out.append(X)
    return out


RULES: dict[str, Rule] = {
    "dsgd": dsgd,
    "dsgt": dsgt,
    "dasagt": dasagt,
    "dnasa": dnasa,
    "d2": d2,
    "sgp": sgp,
    "push_diging": push_diging,
    "push_pull": push_pull,
    "choco": choco,
}
OPTIONS = {
    "dsgd": {"eta": 0.05},
    "dsgt": {"eta": 0.05},
    "dasagt": {"eta": 0.3, "alpha": 0.2},
    "dnasa": {"multiplier": 0.7, "alpha": 0.2},
    "d2": {"eta": 0.05},
    "sgp": {"eta": 0.05},
    "push_diging": {"eta": 0.05},
    "push_pull": {"eta": 0.05},
    "choco": {"eta": 0.05, "gamma": 0.4},
}
VARIANTS = [
    ("dsgd", {"gossip": "twice"}),
    ("dsgt", {"gossip": "twice"}),
    ("dasagt", {"average": "gradient"}),
    ("dnasa", {"average": "gradient"}),
    ("dnasa", {"normalize": "tensor"}),
    ("dnasa", {"normalize": "tensor", "average": "gradient"}),
    ("choco", {"order": "overlapped"}),
]
"""As in the released code."""
