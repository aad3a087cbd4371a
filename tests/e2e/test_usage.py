# SPDX-License-Identifier: Apache-2.0
"""The meter runs while a sandbox lives, and only then."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from collimate_rl import GatewayClient, TemplateHandle


def totals(client: GatewayClient, begun: str) -> dict[str, float]:
    now = datetime.fromtimestamp(time.time() + 1, UTC).isoformat()
    return client.usage(from_ts=begun, to_ts=now)["totals"]


def test_a_sandbox_of_one_vcpu_that_lived_ten_seconds_is_ten_vcpu_seconds(
    meter_client: GatewayClient, meter_template: TemplateHandle
) -> None:
    begun = datetime.now(UTC).isoformat()
    before = totals(meter_client, begun)["vcpu_seconds"]
    with meter_client.session(meter_template) as session:
        session.open()
        time.sleep(10)
    counted = totals(meter_client, begun)["vcpu_seconds"] - before
    assert 9.5 <= counted <= 11
    time.sleep(2)
    assert totals(meter_client, begun)["vcpu_seconds"] - before == counted


def test_suspending_stops_the_meter_and_resuming_keeps_the_state(meter_client: GatewayClient, meter_template: TemplateHandle) -> None:
    begun = datetime.now(UTC).isoformat()
    with meter_client.session(meter_template) as session:
        assert session.exec(code="kept = [1, 2]\nopen('/tmp/kept', 'w').write('file')").ok
        session.suspend()
        first = totals(meter_client, begun)["live_seconds"]
        time.sleep(1.5)
        assert totals(meter_client, begun)["live_seconds"] == first
        session.resume()
        assert session.exec(code="print(kept, open('/tmp/kept').read())").stdout == "[1, 2] file\n"


def test_a_fork_is_counted_for_each_child(meter_client: GatewayClient, meter_template: TemplateHandle) -> None:
    begun = datetime.now(UTC).isoformat()
    with meter_client.session(meter_template) as session, session.fork_group(4):
        time.sleep(2)
    assert totals(meter_client, begun)["sandboxes"] == 5
    assert totals(meter_client, begun)["live_seconds"] >= 10
