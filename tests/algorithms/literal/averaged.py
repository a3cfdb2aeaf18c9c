"""Moving averages of gradients, or of what tracks them; most take a step of fixed length along it."""

import math

import numpy as np

from tests.algorithms.literal.common import LAYOUT, PARTS, root, unit, units


def stepsizes_of_dasagt(kind, n, t, T, o):
    if kind == "constant":
        return o["eta"], o["alpha"]
    return o["eta"] * (root(kind, n, t, T) if kind == "diminishing" else 1.0), min(root(kind, n, t, T), 0.3)


def dasa(X, W, G, kind, T, o):
    n, out, Z = len(X), [X], np.zeros_like(X)
    for t in range(T):
        eta, alpha = stepsizes_of_dasagt(kind, n, t, T, o)
        V = G(X, t)
        X, Z = W @ ((1 - alpha) * X + alpha * (X - eta * Z)), W @ ((1 - alpha) * Z + alpha * V)
        out.append(X)
    return out


def dasagt(X, W, G, kind, T, o):
    n, out = len(X), [X]
    Z, U, V = (np.zeros_like(X) for _ in range(3))
    for t in range(T):
        eta, alpha = stepsizes_of_dasagt(kind, n, t, T, o)
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
        eta, alpha = stepsizes_of_dnasa(kind, n, t, T, o)
        X_half = X.copy()
        for i in range(n):
            for part in PARTS if o.get("normalize") == "tensor" else [slice(None)]:
                X_half[i, part] = X[i, part] - eta * unit(Z[i, part])
        V_new = G(X, t)
        U_half = U + V_new - V
        Z_half = (1 - alpha) * Z + alpha * (V_new if o.get("average") == "gradient" else U_half)
        X, U, Z, V = W @ X_half, W @ U_half, W @ Z_half, V_new
        out.append(X)
    return out


def stepsizes_of_dnasa(kind, n, t, T, o):
    if kind == "constant":
        return o["multiplier"], o["alpha"]
    h = t if kind == "diminishing" else T
    if h == 0:
        return 0.0, 0.0
    return o["multiplier"] * n**0.25 / h**0.75, min(1.0, math.sqrt(n / h))


def gt_nsgdm(X, W, G, kind, T, o):
    out, V, Y, p = [X], np.zeros_like(X), np.zeros_like(X), o["p"]
    for t in range(T):
        h = t if kind == "diminishing" else T
        if kind == "constant":
            eta, alpha = o["multiplier"], o["alpha"]
        elif h == 0:
            eta = alpha = 0.0
        else:
            eta = o["multiplier"] * h ** (-(2 * p - 1) / (3 * p - 2))
            alpha = min(1.0, h ** (-p / (3 * p - 2)))
        V_new = (1 - alpha) * V + alpha * G(X, t)
        Y, V = W @ (Y + V_new - V), V_new
        X = W @ (X - eta * units(Y))
        out.append(X)
    return out


def demuon(X, W, G, kind, T, o):
    """msgn of every tensor by itself, as a matrix: its first axis by all others, a vector as one column."""
    n, out, M, V = len(X), [X], np.zeros_like(X), np.zeros_like(X)
    for t in range(T):
        M_new = (1 - o["theta"]) * M + o["theta"] * G(X, t)
        V, M = W @ (V + M_new - M), M_new
        parts = zip(PARTS, LAYOUT.shapes.values(), strict=True)
        direction = np.hstack([msgn(V[:, part].reshape(n, shape[0], -1)).reshape(n, -1) for part, shape in parts])
        X = W @ (X - o["eta"] * root(kind, n, t, T) * direction)
        out.append(X)
    return out


def msgn(A):
    """Near UVᵀ of A = UΣVᵀ, for every node's A by itself: five steps Z ← 3.4445 Z − 4.7750 (ZZᵀ)Z + 2.0315 (ZZᵀ)²Z
    from A/‖A‖_F, which leave U and V as they are and take one singular value after the other."""
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    sigma = units(sigma)
    for _ in range(5):
        sigma = 3.4445 * sigma - 4.7750 * sigma**3 + 2.0315 * sigma**5
    return (U * sigma[:, None, :]) @ Vt
