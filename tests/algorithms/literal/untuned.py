"""Stepsizes of each node from what it has seen, bets, and averages of the iterates."""

import math

import numpy as np

from tests.algorithms.literal.common import norm, root


def autostep_gt(X, W, G, kind, T, o):
    n, out, W = len(X), [X], np.linalg.matrix_power(W, o.get("rounds", 1))
    Y = V = G(X, 0)
    etas = [np.full(n, o["epsilon"])]
    for t in range(T):
        X_new = W @ (X - etas[t][:, None] * Y)
        V_new = G(X_new, t + 1)
        Y_new = W @ (Y + V_new - V)
        eta = etas[t].copy()
        for i in range(n) if t > 0 else ():
            dx, dy = norm(X_new[i] - X[i]), norm(Y_new[i] - Y[i])
            if dx > 0 and dy > 0:
                eta[i] = min(math.sqrt(1 + etas[t][i] / etas[t - 1][i]) * etas[t][i], dx / (2 * dy))
        etas.append(eta)
        X, Y, V = X_new, Y_new, V_new
        out.append(X)
    return out


def dgm_bb(X, W, G, kind, T, o):
    """Both stepsizes of Barzilai and Borwein, and the largest one that is allowed."""
    n, out, W = len(X), [X], np.linalg.matrix_power(W, o.get("rounds", 1))
    Y = V = G(X, 0)
    X_old, V_old, bb = X, V, np.full(n, np.inf)
    for t in range(T):
        cap = o["eta"] * root(kind, n, max(t, 1), T)  # the first step is not 0
        for i in range(n):
            s, z = X[i] - X_old[i], V[i] - V_old[i]
            if s @ z != 0:
                bb[i] = min(s @ s / abs(s @ z), abs(s @ z) / (z @ z))
        eta = np.minimum(bb, cap / 10 if t == 0 else cap)
        X_old, V_old = X, V
        X = W @ (X - eta[:, None] * Y)
        V = G(X, t + 1)
        Y = W @ (Y + V - V_old)
        out.append(X)
    return out


def dat_sgd(X, W, G, kind, T, o):
    """t = 1, 2, … as in the paper, with a = η/T."""
    n, out, w = len(X), [X], X
    for t in range(1, T + 1):
        a = o["eta"] * root(kind, n, t - 1, T) / T
        w_half = w - a * t * G(X, t - 1)
        before, now = (t - 1) * t / 2, t * (t + 1) / 2
        X_half = (before * X + t * w_half) / now
        X, w = W @ X_half, W @ w_half
        out.append(X)
    return out


def dda_steps(X, W, G, kind, T, o):
    """X and the mean of X¹, …, which is reported."""
    first, Z, out, means = X, np.zeros_like(X), [X], [X]
    for t in range(T):
        a = o["eta"] / {"diminishing": math.sqrt(t + 1), "fixed": math.sqrt(T), "constant": 1.0}[kind]
        Z = W @ Z + G(X, t)
        X = first - a * Z
        out.append(X)
        means.append(sum(out[1:]) / (t + 1))
    return out, means


def dda(X, W, G, kind, T, o):
    return dda_steps(X, W, G, kind, T, o)[0]


def dda_reported(X, W, G, kind, T, o):
    return dda_steps(X, W, G, kind, T, o)[1]


def kt_potential(k, r):
    """(2ᵏ/π) B((k+1+r)/2, (k+1−r)/2)"""
    a, b = (k + 1 + r) / 2, (k + 1 - r) / 2
    return math.exp(k * math.log(2) + math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)) / math.pi


def deco(X, W, G, kind, T, o):
    """After k coins the fraction is S/(k+1); version ii has the potential in the place of the wealth."""
    n, first, out, S, w = len(X), X, [X], np.zeros_like(X), np.ones(len(X))
    for k in range(1, T + 1):
        C = -G(X, k - 1) / o["bound"]
        w = W @ (w + np.array([C[i] @ (X[i] - first[i]) for i in range(n)]))
        S = W @ (S + C)
        wealth = w if o.get("version", "i") == "i" else np.array([kt_potential(k, norm(S[i])) for i in range(n)])
        X = first + np.stack([S[i] / (k + 1) * wealth[i] for i in range(n)])
        out.append(X)
    return out
