"""Estimators that correct themselves: two gradients on one sample, at the new X and at the old."""

import numpy as np

from tests.algorithms.literal.common import first_estimate, root


def gt_hsgd(X, W, G, kind, T, o):
    n, out = len(X), [X]
    V = first_estimate(G, X, o.get("start_batches", 1))
    Y = W @ V
    for t in range(T):
        X_new = W @ (X - o["eta"] * root(kind, n, t, T) * Y)
        V_new = G(X_new, t + 1) + (1 - o["beta"]) * (V - G(X, t + 1))
        Y = W @ (Y + V_new - V)
        X, V = X_new, V_new
        out.append(X)
    return out


def deepstorm(X, W, G, kind, T, o):
    """Without a regularizer: prox is the identity."""
    out, a0, k0, b0 = [X], o["a0"], o["k0"], o["b0"]

    def a(t):
        return a0 if kind == "constant" else a0 / (t + k0) ** (1 / 3)

    D = first_estimate(G, X, o.get("start_batches", 1))
    Y = W @ D
    for t in range(T):
        beta = min(1.0, 1 - a(t + 1) / a(t) + b0 * a(t + 1) ** 2)
        X_new = W @ X - a(t) * Y
        D_new = G(X_new, t + 1) + (1 - beta) * (D - G(X, t + 1))
        Y = W @ (Y + D_new - D)
        X, D = X_new, D_new
        out.append(X)
    return out


def adamdos(X, W, G, kind, T, o):
    """A = diag(√a + ρ₀), from squares of the newest gradient at X."""
    n, out = len(X), [X]
    newest = U = G(X, 0)
    Y, a = W @ U, np.zeros_like(X)
    for t in range(T):
        a = o["fading"] * a + (1 - o["fading"]) * newest**2
        X_tilde = W @ X - o["eta"] * root(kind, n, t, T) * Y / (np.sqrt(a) + o["floor"])
        X_new = X + o["pace"] * (X_tilde - X)
        newest = G(X_new, t + 1)
        U_new = newest + (1 - o["beta"]) * (U - G(X, t + 1))
        Y = W @ (Y + U_new - U)
        X, U = X_new, U_new
        out.append(X)
    return out
