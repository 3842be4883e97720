"""The fused loss against autograd through torch's own."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from pss_integrations.states.loss import Conflicts, CrossEntropy, leads


@pytest.mark.parametrize("count", [1, 7, 600])
@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_loss_and_gradient_are_those_of_autograd(count: int, weight: float) -> None:
    torch.manual_seed(count)
    head = nn.Linear(16, 50, bias=False).requires_grad_(False)
    hidden, labels = torch.randn(count, 16), torch.randint(0, 50, (count,))
    pairs = [(at, int(labels[at] + 1) % 50) for at in {0, count // 2, count - 1}]
    ours, theirs = hidden.clone().requires_grad_(), hidden.clone().requires_grad_()

    loss, margins = CrossEntropy(head)(ours, labels, Conflicts(pairs, weight, 3.0) if weight else None)
    (2 * loss).backward()

    logits = head(theirs)
    expected = F.cross_entropy(logits, labels)
    at, wrong = torch.tensor(pairs).unbind(1)
    expected = expected + weight * F.relu(3.0 - (logits[at, labels[at]] - logits[at, wrong])).mean()
    (2 * expected).backward()
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-6, rtol=1e-4)
    assert not margins.requires_grad
    torch.testing.assert_close(margins, leads(head(hidden), labels))


def test_what_was_kept_of_one_call_does_not_reach_the_next() -> None:
    head = nn.Linear(16, 50).requires_grad_(False)
    entropy = CrossEntropy(head)
    for count in (30, 600, 3, 300):
        hidden, labels = torch.randn(count, 16), torch.randint(0, 50, (count,))
        loss, _ = entropy(hidden, labels)
        torch.testing.assert_close(loss, F.cross_entropy(head(hidden), labels))


def test_leads_say_by_how_much_the_label_leads_and_leave_the_logits() -> None:
    logits = torch.tensor([[1.0, 4.0, 2.5], [3.0, 1.0, 0.0]])
    before = logits.clone()
    assert leads(logits, torch.tensor([1, 2])).tolist() == [1.5, -3.0]
    assert torch.equal(logits, before)
