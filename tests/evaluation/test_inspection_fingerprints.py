from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import MESSAGES, TARGETS, tiny_backbone

from pss_integrations.evaluation.inspection.fingerprints import fingerprint, update_energies
from pss_integrations.evaluation.source import CachedStates
from pss_integrations.states.config import CompileConfig
from pss_integrations.states.layout import Layout, Projection

RANK = 3
LAYOUT = Layout(
    (
        Projection("model.layers.0.self_attn.q_proj", 6, 8),
        Projection("model.layers.0.mlp.up_proj", 6, 10),
        Projection("model.layers.1.mlp.down_proj", 10, 6),
    ),
    RANK,
)
SEEDS = st.integers(0, 2**32 - 1)


def state(seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(LAYOUT.numel, dtype=torch.float64, generator=generator)


def factors(vector: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """A and B of each module; they share the vector's memory."""
    matrices = LAYOUT.matrices(vector)
    keys = [f"base_model.model.{one.path}.lora_{{}}.weight" for one in LAYOUT.projections]
    return [(matrices[key.format("A")], matrices[key.format("B")]) for key in keys]


def rewritten(vector: torch.Tensor, change: torch.Tensor) -> torch.Tensor:
    """The same updates as other factors: A becomes G A, and B becomes B G^-1."""
    other = vector.clone()
    for a, b in factors(other):
        a.copy_(change @ a)
        b.copy_(b @ torch.linalg.inv(change))
    return other


@settings(deadline=None)
@given(seed=SEEDS, scale=st.floats(1e-3, 1e3), sign=st.sampled_from([-1, 1]))
def test_scaling_one_factor_up_and_the_other_down_changes_nothing(seed: int, scale: float, sign: int) -> None:
    one = state(seed)
    other = rewritten(one, sign * scale * torch.eye(RANK, dtype=torch.float64))
    np.testing.assert_allclose(fingerprint(LAYOUT, other), fingerprint(LAYOUT, one), atol=1e-9)
    assert update_energies(LAYOUT, other) == pytest.approx(update_energies(LAYOUT, one))


@settings(deadline=None)
@given(
    seed=SEEDS, rotations=st.tuples(SEEDS, SEEDS), stretch=st.lists(st.floats(0.1, 10), min_size=RANK, max_size=RANK)
)
def test_any_invertible_change_of_the_factors_changes_nothing(
    seed: int, rotations: tuple[int, int], stretch: list[float]
) -> None:
    left, right = (
        torch.linalg.qr(torch.from_numpy(np.random.default_rng(one).normal(size=(RANK, RANK)))).Q for one in rotations
    )
    one = state(seed)
    other = rewritten(one, left @ torch.diag(torch.tensor(stretch, dtype=torch.float64)) @ right)
    np.testing.assert_allclose(fingerprint(LAYOUT, other), fingerprint(LAYOUT, one), atol=1e-8)
    assert update_energies(LAYOUT, other) == pytest.approx(update_energies(LAYOUT, one))


@settings(deadline=None)
@given(SEEDS)
def test_energies_are_the_norms_of_the_products(seed: int) -> None:
    one = state(seed)
    norms = [2.5 * (b @ a).norm().item() for a, b in factors(one)]
    assert list(update_energies(LAYOUT, one, 2.5).values()) == pytest.approx(norms)


def test_fingerprints_keep_inner_products_the_better_the_longer_they_are() -> None:
    states = [state(seed) for seed in range(6)]
    products = np.stack([torch.cat([(b @ a).flatten() for a, b in factors(one)]).numpy() for one in states])
    exact = products @ products.T

    def error(directions: int) -> float:
        prints = np.stack([fingerprint(LAYOUT, one, directions=directions) for one in states])
        assert prints.shape == (6, 3 * directions)
        return float(np.abs(prints @ prints.T - exact).mean() / np.diag(exact).mean())

    assert error(10_000) < 0.05 < error(30)


def test_another_update_or_another_seed_gives_another_fingerprint() -> None:
    one = state(0)
    again = fingerprint(LAYOUT, one)
    assert np.array_equal(again, fingerprint(LAYOUT, one.clone()))
    assert not np.allclose(again, fingerprint(LAYOUT, one, seed=1))
    changed = one.clone()
    factors(changed)[1][1].mul_(1.5)
    by_module = (fingerprint(LAYOUT, changed) / again).reshape(3, -1)
    np.testing.assert_allclose(by_module, np.repeat([[1], [1.5], [1]], by_module.shape[1], axis=1))


def test_a_compiled_state_is_invariant_to_the_last_bit_where_the_scale_is_a_power_of_two(tmp_path: Path) -> None:
    source = CachedStates(tiny_backbone(num_hidden_layers=9), CompileConfig(max_epochs=2), tmp_path)
    layout, vector = source.engine.bank.layout, source.compile(MESSAGES, TARGETS).vector
    other = vector.clone()
    for key, matrix in layout.matrices(other).items():
        matrix.mul_(4.0 if ".lora_A." in key else 0.25)
    assert not torch.equal(vector, other)
    assert np.array_equal(fingerprint(layout, other, directions=32), fingerprint(layout, vector, directions=32))
    assert update_energies(layout, other) == update_energies(layout, vector)
    assert set(update_energies(layout, source.zero().vector).values()) == {0.0}
