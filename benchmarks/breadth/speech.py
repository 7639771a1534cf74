"""Speech and music: spectra of frames, features, pitch, decoding of sequences."""

import numpy as np

from .registry import SAME, floats, program


def wave(rng, n):
    t = np.arange(n, dtype=np.float32) / 16000
    return (np.sin(440 * 6.2831853 * t) + 0.1 * floats(rng, n)).astype(np.float32)


def mel_bank(rng, n, mels):
    return wave(rng, n), np.hanning(400).astype(np.float32), rng.random((257, mels), np.float32)


def mel_torch(x, window, bank):
    import torch

    frames = x.unfold(0, 400, 160) * window
    power = torch.fft.rfft(frames, 512).abs() ** 2
    return torch.log(power @ bank + 1e-6)


@program(mel_bank, (32000, 80), (1600, 5), torch=mel_torch, close=1e-3)
def log_mel_spectrogram(x, window, bank):
    frames = np.lib.stride_tricks.sliding_window_view(x, 400)[::160] * window
    power = np.abs(np.fft.rfft(frames, 512)) ** 2
    return np.log(power.astype(np.float32) @ bank + 1e-6)


def cepstra(rng, frames, mels):
    k = np.arange(mels)
    dct = np.cos(np.pi / mels * (k[:, None] + 0.5) * np.arange(13)).astype(np.float32)
    return floats(rng, frames, mels), dct, 1 + 11 * np.sin(np.pi * np.arange(13) / 22)


@program(cepstra, (1000, 40), (7, 13), jax=SAME)
def cepstral_features(mel, dct, lifter):
    """MFCC with their first differences, each coefficient normalised over time."""
    c = mel @ dct * lifter
    delta = (c[2:] - c[:-2]) / 2
    delta = np.concatenate([delta[:1], delta, delta[-1:]])
    both = np.concatenate([c, delta], 1)
    return (both - both.mean(0)) / both.std(0)


def spectra(rng, frames):
    s = floats(rng, frames, 257) + 1j * floats(rng, frames, 257)
    return s.astype(np.complex64), np.hanning(512).astype(np.float32)


@program(spectra, (200,), (4,), close=1e-3)
def inverse_stft(spectrum, window):
    """Overlap and add, with the sum of squared windows divided out."""
    frames = np.fft.irfft(spectrum, 512, axis=1) * window
    n = len(frames)
    out, weight = np.zeros(n * 128 + 384), np.zeros(n * 128 + 384)
    for i in range(n):
        out[i * 128 : i * 128 + 512] += frames[i]
        weight[i * 128 : i * 128 + 512] += window**2
    return out / np.maximum(weight, 1e-8)


def hidden(rng, t, states):
    normal = lambda x: np.log(x / x.sum(-1, keepdims=True))
    return normal(rng.random((t, states))), normal(rng.random((states, states)))


@program(hidden, (200, 48), (5, 3))
def viterbi(emission, transition):
    t = len(emission)
    score = emission[0]
    back = np.zeros(emission.shape, np.int64)
    for i in range(1, t):
        options = score[:, None] + transition
        back[i] = options.argmax(0)
        score = options.max(0) + emission[i]
    path = np.zeros(t, np.int64)
    path[-1] = score.argmax()
    for i in range(t - 1, 0, -1):
        path[i - 1] = back[i, path[i]]
    return path, score.max()


def sequences(rng, n, m, d):
    return rng.standard_normal((n, d)), rng.standard_normal((m, d))


@program(sequences, (60, 70, 13), (5, 4, 2))
def dynamic_time_warping(a, b):
    cost = np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))
    n, m = cost.shape
    total = np.full((n + 1, m + 1), np.inf)
    total[0, 0] = 0
    for i in range(n):
        for j in range(m):
            best = min(total[i, j], total[i, j + 1], total[i + 1, j])
            total[i + 1, j + 1] = cost[i, j] + best
    return total[n, m]


def frames(rng, n):
    return (wave(rng, n * 512).reshape(n, 512),)


@program(frames, (120,), (3,), close=1e-3)
def pitch_by_autocorrelation(x):
    x = x - x.mean(1, keepdims=True)
    spectrum = np.fft.rfft(x, 1024)
    correlation = np.fft.irfft(np.abs(spectrum) ** 2, 1024)[:, :512]
    correlation = correlation / correlation[:, :1]
    lag = 32 + correlation[:, 32:300].argmax(1)
    return 16000 / lag


def gru(rng, t, d, h):
    return (
        floats(rng, t, d),
        floats(rng, d, 3 * h) / np.float32(d**0.5),
        floats(rng, h, 3 * h) / np.float32(h**0.5),
        floats(rng, 3 * h),
    )


def gru_torch(x, w, u, b):
    import torch

    n = u.shape[0]
    h, found, inner = torch.zeros(n), [], x @ w + b
    for i in range(len(x)):
        y = h @ u
        gates = torch.sigmoid(inner[i, : 2 * n] + y[: 2 * n])
        r, z = gates[:n], gates[n:]
        h = (1 - z) * torch.tanh(inner[i, 2 * n :] + r * y[2 * n :]) + z * h
        found.append(h)
    return torch.stack(found)


@program(gru, (100, 40, 64), (4, 3, 5), torch=gru_torch)
def gru_encoder(x, w, u, b):
    n = u.shape[0]
    h = np.zeros(n, np.float32)
    found = np.zeros((len(x), n), np.float32)
    inner = x @ w + b
    for i in range(len(x)):
        y = h @ u
        gates = 1 / (1 + np.exp(-(inner[i, : 2 * n] + y[: 2 * n])))
        r, z = gates[:n], gates[n:]
        h = (1 - z) * np.tanh(inner[i, 2 * n :] + r * y[2 * n :]) + z * h
        found[i] = h
    return found
