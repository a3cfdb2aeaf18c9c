"""Several steps, or a coin, between two rounds of talk."""

import numpy as np

from tests.algorithms.literal.common import root


def kgt(X, W, G, kind, T, o):
    """While η_t = 0 no node moves: Z is what (X − H)/(K η_t) tends to."""
    n, out, C, K = len(X), [X], np.zeros_like(X), o.get("local_steps", 5)
    for t in range(T):
        eta, H, heard = o["eta"] * root(kind, n, t, T), X, np.zeros_like(X)
        for k in range(K):
            direction = G(H, t * K + k) + C
            H, heard = H - eta * direction, heard + direction
        Z = (X - H) / (K * eta) if eta > 0 else heard / K
        X = W @ (X - K * o["server"] * eta * Z)
        C = C - Z + W @ Z
        out.append(X)
    return out


def led(X, W, G, kind, T, o):
    n, out, Y, K = len(X), [X], np.zeros_like(X), o.get("local_steps", 5)
    b = 1 / K if o.get("b") is None else o["b"]
    for t in range(T):
        eta, P = o["eta"] * root(kind, n, t, T), X
        for k in range(K):
            P = P - eta * G(P, t * K + k) - b * Y
        X = W @ P
        Y = Y + P - X
        out.append(X)
    return out


def proxskip(X, W, G, kind, T, o):
    """o["coin"](t, p) says whether the nodes talk in step t: one coin of probability p for all of them."""
    n, out, Y, c, p = len(X), [X], np.zeros_like(X), o["c"], o["p"]
    for t in range(T):
        Z = X - o["eta"] * root(kind, n, t, T) * G(X, t) - Y
        if o["coin"](t, p):
            X = (1 - c) * Z + c * (W @ Z)
            Y = Y + p * (Z - X)
        else:
            X = Z
        out.append(X)
    return out
