"""Ports: different, free, and outside the range of outgoing connections."""

from __future__ import annotations

import socket

from causeway.local_kafka.ports import HOST, answers, free_ports, is_free


def test_ports_are_different_and_free_and_not_ephemeral() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50
    assert all(is_free(port) for port in ports)
    assert max(ports) < 32768


def test_a_port_in_use_is_seen() -> None:
    (port,) = free_ports(1)
    with socket.socket() as listener:
        listener.bind((HOST, port))
        listener.listen()
        assert not is_free(port)
        assert answers(port)
    assert not answers(port)
