"""The refund example: a real payment service counts what was paid, whatever happens in between."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.cli.desk import wait_until
from tests.examples.conftest import Example, ServedModel
from tests.wire.scripted_server import says

pytestmark = [pytest.mark.enable_socket, pytest.mark.long]
Copy = Callable[[str], Example]
Serve = Callable[..., ServedModel]
PAID = "SELECT order_id, amount FROM refunds"


def plan(order: str, amount: str = "{{steps.s1.output.amount}}") -> str:
    """Write the plan as a model would."""
    return json.dumps(
        {
            "goal": f"Refund order {order}",
            "steps": [
                {"id": "s1", "capability": "orders.lookup", "params": {"order_id": order}},
                {
                    "id": "s2",
                    "capability": "refunds.check",
                    "params": {
                        "amount": "{{steps.s1.output.amount}}",
                        "condition": "{{steps.s1.output.condition}}",
                    },
                },
                {
                    "id": "s3",
                    "capability": "payments.issue_refund",
                    "depends_on": ["s2"],
                    "params": {"order_id": order, "amount": amount, "reason": "{{steps.s2.output.reason}}"},
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
        done = shop.desk.run("approve", env=env)
    assert done.code == 0, done.printed
    assert shop.rows("payments.db", PAID) == [("ord_881", "49.90")]
    assert shop.rows("payments.db", "SELECT status FROM requests") == [(503,), (200,)]
    assert shop.rows("payments.db", "SELECT count(DISTINCT key) FROM requests") == [(1,)]


def test_a_refusal_of_the_service_is_put_before_a_person_who_asks_for_less(
    example: Copy, model: Serve
) -> None:
    shop = example("refund")
    part = plan("ord_882", amount="900.00")
    served = model(says(plan("ord_882")), says(part), says("Refunded a part."))
    with payments(shop) as address:
        env = {**served.env, "PAYMENTS": address}
        assert shop.desk.run("run", "Refund order ord_882", env=env).code == 3
        assert shop.desk.run("approve", env=env).code == 3  # the plan; finance is asked next
        refused = shop.desk.run("approve", env=env)
        assert refused.code == 3, refused.printed
        assert "402: the account does not cover 2400.00" in refused.printed
        assert shop.rows("payments.db", PAID) == []
        again = shop.desk.run("respond", "the account covers 1000: refund 900.00 today", env=env)
        assert again.code == 3, again.printed
        assert shop.desk.run("approve", env=env).code == 3
        done = shop.desk.run("approve", env=env)
    assert done.code == 0, done.printed
    assert shop.rows("payments.db", PAID) == [("ord_882", "900.00")]
    assert shop.rows("payments.db", "SELECT status FROM requests") == [(402,), (200,)]


def test_an_order_that_the_rules_forbid_is_not_paid(example: Copy, model: Serve) -> None:
    shop, served = example("refund"), model(says(plan("ord_700")), says(json.dumps({"cannot": "no reason"})))
    with payments(shop) as address:
        env = {**served.env, "PAYMENTS": address}
        done = shop.desk.run("run", "Refund order ord_700", env=env)
    assert done.code == 1
    assert "'changed her mind' is no reason for a refund" in done.printed
    assert shop.desk.rows("SELECT count(*) FROM gates WHERE kind = 'step'") == [(0,)]
    assert shop.rows("payments.db", "SELECT * FROM requests") == []


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


def test_a_refund_is_checked_by_somebody_who_was_not_there(example: Copy, model: Serve) -> None:
    shop, served = example("refund"), model(says(plan("ord_881")), says("Refunded."))
    with payments(shop) as address:
        env = {**served.env, "PAYMENTS": address}
        assert shop.desk.run("run", "Refund order ord_881", env=env).code == 3
        gate = shop.desk.run("approve", env=env)
        assert "after support.refund.execute (version 1)" in " ".join(gate.printed.split())
        assert "support.refund.execute.order" in gate.printed
        assert shop.desk.run("approve", env=env).code == 0
    replay = shop.desk.run("replay", "last")
    assert (replay.code, "equal" in replay.printed) == (0, True), replay.printed
    assert shop.desk.run("audit", "verify").code == 0
    ((sealed,),) = shop.desk.rows("SELECT content FROM audit WHERE kind = 'run'")
    record = json.loads(sealed)["record"]
    (decision,) = record["decisions"]
    assert (decision["decision_id"], decision["version"], decision["outcome"]) == (
        "support.refund.execute",
        "1",
        "execute",
    )
    assert {name: entry["step_id"] for name, entry in decision["evidence"].items()} == {
        "order": "s1",
        "rules": "s2",
    }
    assert {approval["status"] for approval in record["approvals"]} == {"approved"}


def test_a_refund_beyond_what_its_decision_allows_is_not_paid(example: Copy, model: Serve) -> None:
    shop, served = example("refund"), model(says(plan("ord_881")), says(json.dumps({"cannot": "no"})))
    spec = shop.folder / "decisions" / "support.refund.execute.toml"
    spec.write_text(spec.read_text("utf-8").replace("5000.0", "10.0"), "utf-8")
    with payments(shop) as address:
        env = {**served.env, "PAYMENTS": address}
        assert shop.desk.run("run", "Refund order ord_881", env=env).code == 3
        done = shop.desk.run("approve", env=env)
    assert done.code != 0
    assert "is not eligible" in " ".join(done.printed.split())
    assert shop.rows("payments.db", "SELECT * FROM requests") == []


def test_a_plan_without_the_decision_does_not_call_the_payment_service(example: Copy, model: Serve) -> None:
    bare = json.loads(plan("ord_881"))
    del bare["decision_checkpoints"]
    shop, served = example("refund"), model(says(json.dumps(bare)), says(json.dumps({"cannot": "no"})))
    with payments(shop) as address:
        done = shop.desk.run("run", "Refund order ord_881", env={**served.env, "PAYMENTS": address})
    assert "violates_decision_spec" in " ".join(done.printed.split())
    assert shop.rows("payments.db", "SELECT * FROM requests") == []
