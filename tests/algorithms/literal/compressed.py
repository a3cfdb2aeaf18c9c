"""Gossip of compressed differences, here uncompressed: C is the identity."""

import numpy as np

from tests.algorithms.literal.common import first_estimate, root


def C(difference):
    return difference


def choco(X, W, G, kind, T, o):
    n, out, H, gamma = len(X), [X], np.zeros_like(X), o["gamma"]
    for t in range(T):
        half = X - o["eta"] * root(kind, n, t, T) * G(X, t)
        if o.get("order") == "overlapped":
            X = half + gamma * (W @ H - H)
            H = H + C(X - H)
        else:
            H = H + C(half - H)
            X = half + gamma * (W @ H - H)
        out.append(X)
    return out


def beer(X, W, G, kind, T, o):
    n, out, gamma = len(X), [X], o["gamma"]
    H, Q = np.zeros_like(X), np.zeros_like(X)
    V = g = G(X, 0)
    for t in range(T):
        X = X + gamma * (W @ H - H) - o["eta"] * root(kind, n, t, T) * V
        H = H + C(X - H)
        g_new = G(X, t + 1)
        V = V + gamma * (W @ Q - Q) + g_new - g
        Q = Q + C(V - Q)
        g = g_new
        out.append(X)
    return out


def motef(X, W, G, kind, T, o):
    """BEER of a moving average M of the gradients; λ of the paper is the weight of the newest."""
    n, out, gamma, weight = len(X), [X], o["gamma"], o["weight"]
    H, Q = np.zeros_like(X), np.zeros_like(X)
    V = M = G(X, 0)
    for t in range(T):
        X = X + gamma * (W @ H - H) - o["eta"] * root(kind, n, t, T) * V
        H = H + C(X - H)
        M_new = (1 - weight) * M + weight * G(X, t + 1)
        V = V + gamma * (W @ Q - Q) + M_new - M
        Q = Q + C(V - Q)
        M = M_new
        out.append(X)
    return out


def docom(X, W, G, kind, T, o):
    """BEER of a recursive estimator V; what is known of X at first is X itself."""
    n, out, gamma = len(X), [X], o["gamma"]
    H, Q = X, np.zeros_like(X)
    V = Y = first_estimate(G, X, o.get("start_batches", 1))
    for t in range(T):
        X_new = X + gamma * (W @ H - H) - o["eta"] * root(kind, n, t, T) * Y
        H = H + C(X_new - H)
        V_new = G(X_new, t + 1) + (1 - o["beta"]) * (V - G(X, t + 1))
        Y = Y + gamma * (W @ Q - Q) + V_new - V
        Q = Q + C(Y - Q)
        X, V = X_new, V_new
        out.append(X)
    return out
