"""Each fault of the proxy has its effect, on frames like Kafka's between plain sockets."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from support.process import eventually
from support.proxy import END_TXN, FETCH, PRODUCE, Proxy
from support.wire import Way

WAYS: tuple[Way, Way] = ("requests", "answers")


class Broker:
    """Responds to each request with its correlation id and its payload; records the requests."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.asked: list[bytes] = []
        self.resets = self.ends = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=self._listener.accept()[:1], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while True:
                    (length,) = struct.unpack(">i", exactly(connection, 4))
                    body = exactly(connection, length)
                    self.asked.append(body[8:])
                    connection.sendall(struct.pack(">i", length - 4) + body[4:])
            except EOFError:
                self.ends += 1
            except OSError:
                self.resets += 1

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


class Client:
    """Sends requests and receives responses, on one connection."""

    def __init__(self, proxy: Proxy) -> None:
        self.socket = socket.create_connection(("127.0.0.1", proxy.port), timeout=10)

    def ask(self, correlation: int, payload: bytes = b"?", api: int = FETCH) -> None:
        body = struct.pack(">hhi", api, 1, correlation) + payload
        self.socket.sendall(struct.pack(">i", len(body)) + body)

    def receive(self) -> tuple[int, bytes]:
        """The correlation id and the payload of the next response."""
        (length,) = struct.unpack(">i", exactly(self.socket, 4))
        body = exactly(self.socket, length)
        return *struct.unpack(">i", body[:4]), body[4:]

    def receives_nothing(self) -> bool:
        """Whether neither a response nor an end has arrived, without waiting."""
        self.socket.setblocking(False)
        try:
            self.socket.recv(1)
        except BlockingIOError:
            return True
        finally:
            self.socket.settimeout(10)
        return False


def exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = Broker()
    yield broker
    broker.close()


@pytest.fixture
def proxy(broker: Broker) -> Iterator[Proxy]:
    proxy = Proxy()
    proxy.target(broker.port)
    yield proxy
    proxy.close()


@pytest.fixture
def client(proxy: Proxy) -> Iterator[Client]:
    client = Client(proxy)
    with client.socket:
        yield client


def test_frames_of_all_sizes_are_delivered_unchanged_in_order_and_counted(
    proxy: Proxy, broker: Broker, client: Client
) -> None:
    payloads = [b"", b"x", bytes(range(256)) * 40_000]
    sizes: list[int] = []
    proxy.on_request = lambda api, body: sizes.append(len(body))

    def ask() -> None:
        for number, payload in enumerate(payloads):
            client.ask(number, payload, PRODUCE)

    asking = threading.Thread(target=ask)
    asking.start()
    assert [client.receive() for _ in payloads] == list(enumerate(payloads))
    asking.join()
    assert broker.asked == payloads
    assert sizes == [8 + len(payload) for payload in payloads]
    assert proxy.seen == {PRODUCE: 3}
    assert proxy.carried["requests"] == sum(sizes) + 4 * 3


def test_a_closed_client_closes_its_connection_to_the_broker(broker: Broker, client: Client) -> None:
    client.ask(1)
    client.receive()
    client.socket.close()
    eventually(lambda: broker.ends == 1, "the broker sees the end")


def test_a_broker_that_is_down_looks_down_through_the_proxy(broker: Broker) -> None:
    proxy = Proxy()
    broker.close()
    proxy.target(broker.port)
    with Client(proxy).socket as connection:
        assert ended(connection)
    proxy.close()


def ended(connection: socket.socket) -> bool:
    try:
        return not connection.recv(1)
    except ConnectionResetError:
        return True


def test_a_cut_ends_every_connection_and_accepts_no_new_one_until_it_heals(
    proxy: Proxy, broker: Broker, client: Client
) -> None:
    client.ask(1)
    client.receive()
    proxy.cut()
    assert ended(client.socket)
    eventually(lambda: broker.ends + broker.resets == 1, "the broker sees the end")
    with Client(proxy).socket as other:
        assert ended(other)
    proxy.heal()
    again = Client(proxy)
    with again.socket:
        again.ask(2, b"again")
        assert again.receive() == (2, b"again")


@pytest.mark.parametrize("late", [False, True])
def test_requests_do_not_arrive_while_their_direction_is_dead(
    proxy: Proxy, broker: Broker, client: Client, late: bool
) -> None:
    client.ask(1, b"before")
    client.receive()
    proxy.mute("requests", late=late)
    client.ask(2, b"meanwhile")
    other = Client(proxy)  # a new connection can be opened
    with other.socket:
        other.ask(3, b"other")
        eventually(lambda: proxy.stopped["requests"] == 2, "both are stopped")
        assert client.receives_nothing()
        assert broker.asked == [b"before"]
        proxy.heal()
        if late:
            assert client.receive() == (2, b"meanwhile")
            assert other.receive() == (3, b"other")
        client.ask(4, b"after")
        if late:
            assert client.receive() == (4, b"after")
        else:
            with pytest.raises(ConnectionResetError):
                client.receive()
    assert sorted(broker.asked) == sorted([b"before"] + late * [b"after", b"meanwhile", b"other"])


@pytest.mark.parametrize("late", [False, True])
def test_responses_do_not_arrive_while_their_direction_is_dead(
    proxy: Proxy, broker: Broker, client: Client, late: bool
) -> None:
    proxy.mute("answers", late=late)
    client.ask(1, b"meanwhile")
    eventually(lambda: broker.asked == [b"meanwhile"], "the broker did it")
    eventually(lambda: proxy.stopped["answers"] == 1, "its response is stopped")
    assert client.receives_nothing()
    proxy.heal()
    client.ask(2, b"after")
    if late:
        assert [client.receive(), client.receive()] == [(1, b"meanwhile"), (2, b"after")]
    else:
        with pytest.raises(ConnectionResetError):
            client.receive()


@pytest.mark.parametrize("late", [False, True])
def test_a_dead_line_delivers_no_end_and_delivers_late_what_its_sender_left(
    proxy: Proxy, broker: Broker, client: Client, late: bool
) -> None:
    proxy.mute("requests", late=late)
    client.ask(1, b"late")
    client.socket.close()
    # A frame that waits delays the end after it.
    eventually(lambda: proxy.stopped["requests"] == (1 if late else 2), "it is stopped, and the end with it")
    assert (broker.asked, broker.ends) == ([], 0)
    proxy.heal()
    eventually(lambda: broker.ends + broker.resets == 1, "the broker sees the end")
    assert broker.asked == [b"late"] * late


def test_a_reset_is_a_reset_on_both_sides(proxy: Proxy, broker: Broker, client: Client) -> None:
    client.ask(1)
    client.receive()
    proxy.reset()
    with pytest.raises(ConnectionResetError):
        client.receive()
    eventually(lambda: broker.resets == 1, "the broker sees a reset")
    again = Client(proxy)
    with again.socket:
        again.ask(2, b"again")
        assert again.receive() == (2, b"again")


@pytest.mark.parametrize("way", WAYS)
def test_a_torn_frame_never_arrives_whole(proxy: Proxy, broker: Broker, client: Client, way: Way) -> None:
    proxy.tear(way, PRODUCE)
    client.ask(1, b"whole", FETCH)
    assert client.receive() == (1, b"whole")
    client.ask(2, b"torn" * 1000, PRODUCE)
    with pytest.raises(ConnectionResetError):
        client.receive()
    assert proxy.torn.wait(5)
    eventually(lambda: broker.resets == 1, "the broker sees a reset")
    assert broker.asked == [b"whole"] + [b"torn" * 1000] * (way == "answers")


def test_a_delay_applies_in_each_direction_and_does_not_reduce_the_rate(proxy: Proxy, client: Client) -> None:
    proxy.delay(0.2)
    began = time.monotonic()
    for number in range(50):
        client.ask(number)
    assert [client.receive()[0] for _ in range(50)] == list(range(50))
    took = time.monotonic() - began
    assert 0.4 <= took < 50 * 0.2, "one after the other would take 20 s"
    proxy.delay(60)
    proxy.heal()
    client.ask(50)
    assert client.receive()[0] == 50


def test_a_limit_holds_for_all_connections_together(proxy: Proxy, broker: Broker, client: Client) -> None:
    proxy.limit(1_000_000)
    other = Client(proxy)
    began = time.monotonic()
    with other.socket:
        for each in (client, other):
            each.ask(1, bytes(150_000))
        assert [len(each.receive()[1]) for each in (client, other)] == [150_000] * 2
    assert time.monotonic() - began >= 0.44, "each by itself would take 0.3 s"
    proxy.heal()
    client.ask(2, bytes(10_000_000))
    assert len(client.receive()[1]) == 10_000_000


def test_a_limited_line_blocks_its_sender(proxy: Proxy, client: Client) -> None:
    """Its sender blocks: whatever the proxy accepted would count as sent."""
    proxy.limit(10_000)
    client.socket.settimeout(0.2)
    with pytest.raises(TimeoutError):
        for number in range(100):
            client.ask(number, bytes(1_000_000))


def test_a_held_request_costs_its_sender_the_connection_and_is_delivered_late(
    proxy: Proxy, broker: Broker, client: Client
) -> None:
    proxy.hold(END_TXN, b"mine")
    client.ask(1, b"yours", END_TXN)
    assert client.receive() == (1, b"yours")
    client.ask(2, b"mine", END_TXN)
    client.ask(3, b"after it", END_TXN)
    assert proxy.held.wait(5)
    assert ended(client.socket)
    again = Client(proxy)
    with again.socket:
        again.ask(4, b"mine", END_TXN)  # the repetition is delivered
        assert again.receive() == (4, b"mine")
    assert broker.asked == [b"yours", b"mine"]
    proxy.release()
    eventually(lambda: broker.asked == [b"yours", b"mine", b"mine"], "it arrived")


@pytest.mark.parametrize("hang_up", [False, True])
def test_the_response_to_one_request_is_lost(
    proxy: Proxy, broker: Broker, client: Client, hang_up: bool
) -> None:
    """Three are in flight together, and the second is identified by its correlation id."""
    proxy.lose_answer(END_TXN, b"mine", hang_up=hang_up)
    proxy.delay(0.05)
    for number, payload in enumerate([b"yours", b"mine", b"mine too"]):
        client.ask(number, payload, END_TXN)
    assert client.receive() == (0, b"yours")
    if hang_up:
        assert ended(client.socket)
    else:
        assert client.receive() == (2, b"mine too")
    assert proxy.lost.is_set()
    assert broker.asked[:2] == [b"yours", b"mine"], "the broker did it"


def test_an_error_in_a_callback_is_raised(broker: Broker) -> None:
    proxy = Proxy()
    proxy.target(broker.port)

    def look(api: int, body: bytes) -> None:
        raise AssertionError("not what was expected")

    proxy.on_request = look
    with Client(proxy).socket as connection:
        connection.sendall(struct.pack(">ihhi", 8, FETCH, 1, 1))
        assert ended(connection)
    with pytest.raises(AssertionError, match="not what was expected"):
        proxy.close()
