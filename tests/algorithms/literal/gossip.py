"""Gradient steps and one average; with momentum; and differences of two steps, which take the bias away."""

import numpy as np

from tests.algorithms.literal.common import lazy, root


def dsgd(X, W, G, kind, T, o):
    n, out = len(X), [X]
    for t in range(T):
        eta = o["eta"] * root(kind, n, t, T)
        if o.get("order") == "combine_while_adapting":
            X = W @ X - eta * G(X, t)
        elif o.get("order") == "combine_then_adapt":
            Z = W @ X
            X = Z - eta * G(Z, t)
        else:
            mixed = W @ X if o.get("gossip") == "twice" else X
            X = W @ (mixed - eta * G(X, t))
        out.append(X)
    return out


def dsgdm(X, W, G, kind, T, o):
    n, out, M = len(X), [X], np.zeros_like(X)
    for t in range(T):
        M = o["beta"] * M + G(X, t)
        X = W @ (X - o["eta"] * root(kind, n, t, T) * M)
        out.append(X)
    return out


def decentlam(X, W, G, kind, T, o):
    """While η_t = 0 there is no D: M is left as it is, and η_t D = X − W X."""
    n, out, M = len(X), [X], np.zeros_like(X)
    for t in range(T):
        eta = o["eta"] * root(kind, n, t, T)
        if eta > 0:
            D = (X - W @ (X - eta * G(X, t))) / eta
            M = o["beta"] * M + D
            X = X - eta * M
        else:
            X = X - (X - W @ X)
        out.append(X)
    return out


def qg_dsgdm(X, W, G, kind, T, o):
    """While η_t = 0 nothing is learnt from X − X⁺: M is left as it is."""
    n, out, M, beta, mu = len(X), [X], np.zeros_like(X), o["beta"], o["mu"]
    for t in range(T):
        eta, g = o["eta"] * root(kind, n, t, T), G(X, t)
        direction = beta * M + g
        if o.get("nesterov"):
            direction = g + beta * direction
        X_new = W @ (X - eta * direction)
        if eta > 0:
            M = mu * M + (1 - mu) * (X - X_new) / eta
        X = X_new
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


def ed(X, W, G, kind, T, o):
    n, out, psi_old, W = len(X), [X], X, lazy(W)
    for t in range(T):
        psi = X - o["eta"] * root(kind, n, t, T) * G(X, t)
        X = W @ (psi + X - psi_old)
        psi_old = psi
        out.append(X)
    return out


def edm(X, W, G, kind, T, o):
    n, out, psi_old, M, beta = len(X), [X], X, np.zeros_like(X), o["beta"]
    if o.get("lazy"):
        W = lazy(W)
    for t in range(T):
        M = beta * M + (1 - beta) * G(X, t)
        psi = X - o["eta"] * root(kind, n, t, T) * M
        X = W @ (psi + X - psi_old)
        psi_old = psi
        out.append(X)
    return out


def fspda(X, W, G, kind, T, o):
    """ℒ = I − W, the Laplacian of the edges with their weights."""
    n, out, dual = len(X), [X], np.zeros_like(X)
    for t in range(T):
        apart = X - W @ X
        X = X - o["eta"] * root(kind, n, t, T) * G(X, t) - o["pull"] * dual - o["gamma"] * apart
        dual = dual + o["beta"] * apart
        out.append(X)
    return out
