"""Normalized and clipped gradients."""

import numpy as np

from tests.algorithms.literal.common import norm, root, units


def dsgd_n(X, W, G, kind, T, o):
    n, out = len(X), [X]
    for t in range(T):
        X = W @ (X - o["eta"] * root(kind, n, t, T) * units(G(X, t)))
        out.append(X)
    return out


def dsgd_clip(X, W, G, kind, T, o):
    n, out, p, clipping = len(X), [X], o.get("p", 2.0), o.get("clipping", "given")
    for t in range(T):
        g, clipped = G(X, t), np.zeros_like(X)
        eta, tau = o["eta"] * root(kind, n, t, T), o["tau"]
        if clipping == "decay":
            eta, tau = o["eta"] / (t + 1), o["tau"] / (t + 1) ** 0.4
        if clipping == "heavy_tail":
            tau = max(o["tau"], (n * T) ** (1 / (3 * p - 2)))
            eta = o["eta"] / tau * n ** ((2 * p - 1) / (3 * p - 2)) * T ** (-(p - 1) / (3 * p - 2))
        for i in range(n):
            clipped[i] = g[i] * min(1.0, tau / norm(g[i]))
        X = W @ (X - eta * clipped)
        out.append(X)
    return out


def dsgd_cclip(X, W, G, kind, T, o):
    n, out = len(X), [X]
    for t in range(T):
        X = W @ (X - o["eta"] * root(kind, n, t, T) * np.clip(G(X, t), -o["tau"], o["tau"]))
        out.append(X)
    return out


def sclip_ef(X, W, G, kind, T, o):
    out, M = [X], np.zeros_like(X)
    for t in range(T):
        k = {"diminishing": t + 1, "fixed": T, "constant": 1}[kind]
        a, b, phi, eps = o["eta"] / k**0.2, o["beta"] / k**0.5, o["phi"] / k**0.5, o["epsilon"] * k**0.6
        u = G(X, t) - M
        M = b * M + (1 - b) * phi * u / np.sqrt(u**2 + eps)
        X = W @ (X - a * M)
        out.append(X)
    return out
