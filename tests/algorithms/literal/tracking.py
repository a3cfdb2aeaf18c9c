"""Y tracks the mean of the gradients: what comes in is the difference of the newest two."""

import numpy as np

from tests.algorithms.literal.common import lazy, momentum_of_theory, norm, root, units


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


def gt(X, W, G, kind, T, o):
    n, out, form = len(X), [X], o.get("form", "atc")
    V = G(X, 0)
    Y = W @ V if o.get("begins") == "mixed" else V
    own = np.ones((n, 1))
    if o.get("local_stepsizes"):  # ten power iterations; sample −1 stands for all data
        U = G(X, -1)
        for _ in range(10):
            U = G(X + units(U), -1) - G(X, -1)
        own = np.array([[norm(u)] for u in U])
    for t in range(T):
        eta = o["eta"] * root(kind, n, t, T) / own
        X = W @ X - eta * Y if form == "awc" else W @ (X - eta * Y)
        V_new = G(X, t + 1)
        Y = W @ (Y + V_new - V) if form == "atc" else W @ Y + V_new - V
        V = V_new
        out.append(X)
    return out


def dsgt_hb(X, W, G, kind, T, o):
    n, out = len(X), [X]
    beta = momentum_of_theory(W)[1] if o.get("momentum", "given") == "theory" else o["beta"]
    W = lazy(W)
    Y = V = G(X, 0)
    U = (1 - beta) * Y
    for t in range(T):
        X = W @ (X - o["eta"] * root(kind, n, t, T) * U)
        V_new = G(X, t + 1)
        Y, V = W @ (Y + V_new - V), V_new
        U = beta * U + (1 - beta) * Y
        out.append(X)
    return out


def momentum_tracking(X, W, G, kind, T, o):
    n, out = len(X), [X]
    U = C = np.zeros_like(X)
    for t in range(T):
        U = o["beta"] * U + G(X, t)
        X = W @ X - o["eta"] * root(kind, n, t, T) * (U - C)
        C = W @ (C - U) + U
        out.append(X)
    return out


def dsmt(X, W, G, kind, T, o):
    n, out = len(X), [X]
    w, beta = momentum_of_theory(W)
    if o.get("momentum", "theory") == "given":
        beta = o["beta"]
    W = lazy(W)
    X_old = X
    Y = Y_old = Z = (1 - beta) * G(X, 0)
    for t in range(T):
        step = o["eta"] * root(kind, n, t, T) * Y
        X_half, X_old_half = X - step, X_old - step
        X, X_old = (1 + w) * (W @ X_half) - w * X_old_half, X_half
        Z_new = beta * Z + (1 - beta) * G(X, t + 1)
        Y_half, Y_old_half = Y + Z_new - Z, Y_old + Z_new - Z
        Y, Y_old = (1 + w) * (W @ Y_half) - w * Y_old_half, Y_half
        Z = Z_new
        out.append(X)
    return out
