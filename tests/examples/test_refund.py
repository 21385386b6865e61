"""The refund example: a real payment service counts what was paid, whatever happens in between."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.cli.desk import wait_until
from tests.examples.conftest import Example, ServedModel
from tests.wire.scripted_server import says

pytestmark = pytest.mark.enable_socket
Copy = Callable[[str], Example]
Serve = Callable[..., ServedModel]
PAID = "SELECT order_id, amount FROM refunds"


def plan(order: str) -> str:
    """Write the plan as a model would."""
    return json.dumps(
        {
            "goal": f"Refund order {order}",
            "steps": [
                {"id": "s1", "capability": "orders.lookup", "params": {"order_id": order}},
                {
                    "id": "s2",
                    "capability": "refunds.check",
                    "params": {"paid_on": "{{steps.s1.output.paid_on}}"},
                },
                {
                    "id": "s3",
                    "capability": "payments.issue_refund",
                    "depends_on": ["s2"],
                    "params": {"order_id": order, "amount": "{{steps.s1.output.amount}}"},
                    "approval_mode": "destructive",
                    "requires": ["GATE_FINANCE_APPROVAL"],
                },
                {"id": "s4", "capability": "respond", "depends_on": ["s3"]},
            ],
            "decision_checkpoints": [{"decision_id": "support.refund.execute", "after_step": "s2"}],
        }
    )


@contextmanager
def payments(shop: Example, *options: str) -> Iterator[str]:
    """Run the payment service of the example; it is killed with the block. Returns its address."""
    command = [sys.executable, "-P", "payment_service.py", "--port", "0", *options]
    with subprocess.Popen(command, cwd=shop.folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().removeprefix("listening on ").strip()
        finally:
            process.kill()


def approved(shop: Example, env: dict[str, str]) -> Any:
    """Approve what waits, gate by gate, until nothing waits."""
    outcome = shop.desk.run("approve", env=env)
    return approved(shop, env) if outcome.code == 3 else outcome


def test_a_refund_is_paid_once_though_the_first_try_is_answered_503(example: Copy, model: Serve) -> None:
    shop, served = example("refund"), model(says(plan("ord_881")), says("Refunded."))
    with payments(shop, "--faults", "1") as address:
        env = {**served.env, "PAYMENTS": address}
        asked = shop.desk.run("run", "Refund order ord_881", env=env)
        assert asked.code == 3, asked.printed
        assert shop.rows("payments.db", PAID) == []
        gate = shop.desk.run("approve", env=env)
        assert gate.code == 3, gate.printed
        assert "GATE_FINANCE_APPROVAL" in gate.printed
        assert "money leaves the shop" in gate.printed
        assert shop.rows("payments.db", "SELECT * FROM requests") == []
        done = approved(shop, env)
    assert done.code == 0, done.printed
    assert shop.rows("payments.db", PAID) == [("ord_881", "49.90")]
    assert shop.rows("payments.db", "SELECT status FROM requests") == [(503,), (200,)]
    assert shop.rows("payments.db", "SELECT count(DISTINCT key) FROM requests") == [(1,)]


def test_a_refusal_of_the_service_is_told_and_nothing_is_paid(example: Copy, model: Serve) -> None:
    shop = example("refund")
    served = model(says(plan("ord_882")), says(json.dumps({"cannot": "the account does not cover it"})))
    with payments(shop) as address:
        env = {**served.env, "PAYMENTS": address}
        assert shop.desk.run("run", "Refund order ord_882", env=env).code == 3
        done = approved(shop, env)
    print(done)
    assert done.code == 1, done.printed
    assert "402" in done.printed
    assert shop.rows("payments.db", PAID) == []
    assert shop.rows("payments.db", "SELECT status FROM requests") == [(402,)]


def test_a_process_that_is_killed_between_payment_and_answer_pays_once(example: Copy, model: Serve) -> None:
    shop, served = example("refund"), model(says(plan("ord_881")), says("Refunded."))
    with payments(shop, "--hold", "3600") as address:
        env = {**served.env, "PAYMENTS": address}
        assert shop.desk.run("run", "Refund order ord_881", env=env).code == 3
        assert shop.desk.run("approve", env=env).code == 3
        with shop.desk.begin("approve", env=env) as dying:
            assert wait_until(lambda: shop.rows("payments.db", PAID) != [])
            dying.send(signal.SIGKILL)
    with payments(shop) as address:
        done = shop.desk.run("resume", "last", env={**served.env, "PAYMENTS": address})
    assert done.code == 0, done.printed
    assert shop.rows("payments.db", PAID) == [("ord_881", "49.90")]
    assert shop.rows("payments.db", "SELECT count(*), count(DISTINCT key) FROM requests") == [(2, 1)]
