"""Stepsizes made of the gradients seen so far."""

import math

import numpy as np

from tests.algorithms.literal.common import norm, root


def dadam(X, W, G, kind, T, o):
    n, out, m, v = len(X), [X], np.zeros_like(X), np.zeros_like(X)
    beta1, beta2 = o["beta1"], o["beta2"]
    for t in range(T):
        g = G(X, t)
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
        m_hat, v_hat = m / (1 - beta1 ** (t + 1)), v / (1 - beta2 ** (t + 1))
        X = W @ (X - o["eta"] * root(kind, n, t, T) * m_hat / (np.sqrt(v_hat) + o["epsilon"]))
        out.append(X)
    return out


def dadam_written(X, W, G, kind, T, o):
    n, out, m, v, v_hat = len(X), [X], np.zeros_like(X), np.zeros_like(X), np.full_like(X, o["epsilon"] ** 2)
    beta1, beta2, beta3 = o["beta1"], o["beta2"], o["beta3"]
    for t in range(T):
        g = G(X, t)
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
        v_hat = beta3 * v_hat + (1 - beta3) * np.maximum(v_hat, v)
        step = m / np.sqrt(v_hat)
        if o.get("variant") == "released":
            step = m / (1 - beta1 ** (t + 1)) / (np.sqrt(v / (1 - beta2 ** (t + 1))) + o["epsilon"])
        X = W @ X - o["eta"] * root(kind, n, t, T) * step
        out.append(X)
    return out


def accum_adam(X, W, G, kind, T, o):
    """M and V take a mean of A gradients once in A steps; a step adds its own gradient to them for the moment."""
    n, out, A = len(X), [X], o.get("accumulate", 4)
    M, V, acc = (np.zeros_like(X) for _ in range(3))
    beta1, beta2 = o["beta1"], o["beta2"]
    for t in range(T):
        g, k = G(X, t), math.ceil((t + 1) / A)
        U = (M + (1 - beta1) * g) / (1 - beta1**k)
        D = np.sqrt((V + (1 - beta2) * g**2) / (1 - beta2**k)) + o["epsilon"]
        X = W @ X - o["eta"] * root(kind, n, t, T) * U / D
        acc = acc + g / A
        if (t + 1) % A == 0:
            M, V, acc = beta1 * (M + (1 - beta1) * acc), beta2 * (V + (1 - beta2) * acc**2), np.zeros_like(X)
        out.append(X)
    return out


def dadam_released(X, W, G, kind, T, o):
    """DADAM as its authors released it: Adam's step, added after mixing."""
    n, out, m, v = len(X), [X], np.zeros_like(X), np.zeros_like(X)
    beta1, beta2 = o["beta1"], o["beta2"]
    for t in range(T):
        g = G(X, t)
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
        m_hat, v_hat = m / (1 - beta1 ** (t + 1)), v / (1 - beta2 ** (t + 1))
        X = W @ X - o["eta"] * root(kind, n, t, T) * m_hat / (np.sqrt(v_hat) + o["epsilon"])
        out.append(X)
    return out


def damsgrad(X, W, G, kind, T, o):
    """A step divides by what the neighbors said: v̂ of its own gradient is in U from the next step on."""
    n, out, m, v = len(X), [X], np.zeros_like(X), np.zeros_like(X)
    beta1, beta2, epsilon = o["beta1"], o["beta2"], o["epsilon"]
    U = v_hat = np.full_like(X, epsilon)
    for t in range(T):
        g = G(X, t)
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
        v_hat_new = np.maximum(v_hat, v)
        U_mixed = W @ U
        X = W @ X - o["eta"] * root(kind, n, t, T) * m / np.sqrt(np.maximum(U_mixed, epsilon))
        U = U_mixed + v_hat_new - v_hat
        v_hat = v_hat_new
        out.append(X)
    return out


def dadagrad_norm(X, W, G, kind, T, o):
    n, out, s = len(X), [X], np.full(len(X), o["epsilon"])
    for t in range(T):
        g = G(X, t)
        s = s + np.array([norm(g[i]) ** 2 for i in range(n)])
        if o.get("track", True):
            s = W @ s
        scaled = np.stack([g[i] / math.sqrt(s[i]) for i in range(n)])
        X = W @ (X - o["eta"] * scaled)
        out.append(X)
    return out


def d_dog_steps(X, W, G, T, o):
    """X and the averages x̂ of the nodes, which is what is reported."""
    n, first, average = len(X), X, X
    out, averages = [X], [X]
    R = np.array([(o["epsilon"] * (1 + norm(X[i]))) ** 2 for i in range(n)])
    S = np.full(n, 1e-8)
    Y = V = G(X, 0)
    for t in range(T):
        R = np.array([max(R[i], norm(X[i] - first[i]) ** 2) for i in range(n)])
        S = np.array([S[i] + norm(Y[i]) ** 2 for i in range(n)])
        if o.get("form") == "three_rounds":
            R, S = W @ R, W @ S
        X = W @ np.stack([X[i] - math.sqrt(R[i] / S[i]) * Y[i] for i in range(n)])
        V_new = G(X, t + 1)
        if o.get("form") == "three_rounds":
            Y = W @ (Y + V_new - V)
        else:
            R, S, Y = W @ R, W @ S, W @ Y + V_new - V
        V = V_new
        weight = 9 / (9 + t)
        average = (1 - weight) * average + weight * X
        out.append(X)
        averages.append(average)
    return out, averages


def d_dog(X, W, G, kind, T, o):
    return d_dog_steps(X, W, G, T, o)[0]


def d_dog_reported(X, W, G, kind, T, o):
    return d_dog_steps(X, W, G, T, o)[1]


def gt_adam(X, W, G, kind, T, o):
    n, out, m, v = len(X), [X], np.zeros_like(X), np.zeros_like(X)
    beta1, beta2 = o["beta1"], o["beta2"]
    S = V = G(X, 0)
    for t in range(T):
        m, v = beta1 * m + (1 - beta1) * S, beta2 * v + (1 - beta2) * S**2
        X = W @ X - o["eta"] * root(kind, n, t, T) * m / (np.sqrt(v) + o["epsilon"])
        V_new = G(X, t + 1)
        S, V = W @ S + V_new - V, V_new
        out.append(X)
    return out
