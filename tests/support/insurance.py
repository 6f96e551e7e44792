"""Who uses an insurance that is up: what callers send, writers that note what was confirmed, and what is stored."""

from __future__ import annotations

import subprocess
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import httpx

from patternbench.lab.environment import Environment
from patternbench.lab.software import debian

CUSTOMER, OTHER = "c000000001", "c000000002"
ADDRESS = {"streetAddress": "Bahnhofplatz 8", "postalCode": "8640", "city": "Rapperswil"}
MONEY = {"amount": 500, "currency": "CHF"}


def quote_of(customer: str) -> dict[str, object]:
    """A quote request that is about a customer."""
    about = {"customerId": customer, "firstname": "Alan", "lastname": "Baumann"}
    options = {"startDate": "2030-02-01", "insuranceType": "Home Insurance", "deductible": MONEY}
    customer_info = {**about, "contactAddress": ADDRESS, "billingAddress": ADDRESS}
    return {"customerInfo": customer_info, "insuranceOptions": options}


QUOTE = quote_of(CUSTOMER)
POLICY: Mapping[str, object] = {
    "customerId": CUSTOMER,
    "policyPeriod": {"startDate": "2030-02-01", "endDate": "2031-01-31"},
    "policyType": "Home Insurance",
    "deductible": MONEY,
    "policyLimit": MONEY,
    "insurancePremium": MONEY,
    "insuringAgreement": {"agreementItems": [{"title": "Fire", "description": ""}]},
}
CUSTOMERS, QUOTES = "/management/customers", "/self-service/insurance-quote-requests"
POLICIES = "/policy-management/policies"
SENT = "customer_self_service.insurance_quote_requests"
RECEIVED = "policy_management.insurance_quote_requests"
STORED_POLICIES = "policy_management.policies"
ANSWER_S = 20.0
PATIENCE_S = 90.0
PAUSE_S = 0.05
"""How long a writer waits after a failure."""


def signed_in(insurance: Environment, entry: str, email: str) -> httpx.Client:
    """A client that carries the token of a user."""
    login = {"email": email, "password": "insurance"}
    token = httpx.post(f"{insurance.endpoint}/{entry}/auth", json=login, timeout=ANSWER_S).json()["token"]
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=insurance.endpoint, headers=headers, timeout=ANSWER_S)


def stored(insurance: Environment, table: str) -> list[str]:
    """The ids in a table, in order, as the database itself tells them."""
    login = insurance.running["db"].folder / "reset.cnf"
    requested = ("--skip-column-names", "--execute", f"SELECT id FROM {table}")
    command = [debian.program("mariadb"), f"--defaults-file={login}", *requested]
    return sorted(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


class Writer(threading.Thread):
    """Creates quote requests and policies by turns, and notes what was confirmed.

    A quote request is repeated under its key until it is confirmed; a policy, which has no key, is sent once.
    """

    def __init__(self, customer: httpx.Client, employee: httpx.Client) -> None:
        super().__init__(daemon=True)
        self.quotes: list[str] = []
        self.policies: list[str] = []
        self.failures = 0
        self._customer, self._employee = customer, employee
        self._over = threading.Event()

    @property
    def confirmed(self) -> int:
        """How much was confirmed so far."""
        return len(self.quotes) + len(self.policies)

    def run(self) -> None:
        """Write until told to end; what was begun is brought to its end, for as long as patience lasts."""
        while not self._over.is_set():
            self._quote(str(uuid.uuid4()), time.monotonic() + PATIENCE_S)
            self.policies += self._created(self._employee, POLICIES, POLICY, "policyId")

    def _quote(self, key: str, deadline: float) -> None:
        made: list[str] = []
        while not made and time.monotonic() < deadline:
            made = self._created(self._customer, QUOTES, QUOTE, "id", **{"Idempotency-Key": key})
        self.quotes += made

    def _created(
        self, http: httpx.Client, path: str, body: Mapping[str, object], name: str, **headers: str
    ) -> list[str]:
        """The id of what was created, which is confirmed; nothing where it is not."""
        with suppress(httpx.TransportError):
            answer = http.post(path, json=body, headers=headers)
            if answer.status_code == httpx.codes.OK:
                return [answer.json()[name]]
        self.failures += 1
        time.sleep(PAUSE_S)
        return []

    def end(self) -> None:
        """Have it bring to its end what it has begun, and wait for that."""
        self._over.set()
        self.join(2 * PATIENCE_S)


@contextmanager
def writing(customer: httpx.Client, employee: httpx.Client, count: int) -> Iterator[Sequence[Writer]]:
    """So many writers at work; on leaving each has ended what it had begun."""
    writers = [Writer(customer, employee) for _ in range(count)]
    for writer in writers:
        writer.start()
    try:
        yield writers
    finally:
        for writer in writers:
            writer.end()
