"""From the URL of an index to the parameters of libpq, without secrets and never in clear over a network.

Passwords come from libpq's own places: a service file, `~/.pgpass`, client certificates. A connection that
leaves this machine checks the certificate of the server.
"""

from __future__ import annotations

import ipaddress
import os
import threading
from collections.abc import Mapping
from urllib.parse import quote, urlencode

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

from kebab_tui.domain.errors import ConfigError

Parameters = dict[str, str]
_VERIFIED = "verify-full"
_SAFE = ("application_name", "service", "target_session_attrs")
_INHERITED = (
    "user", "passfile", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "sslcrldir",
    "channel_binding", "require_auth", "sslnegotiation", "krbsrvname", "gssencmode",
)  # fmt: skip
"""What a reader says for the first server holds for the shards, too."""
_resolving = threading.Lock()


def parameters_of(url: str) -> Parameters:
    """The parameters of a URL; raises ConfigError if it has a password or would connect unverified."""
    try:
        given = {key: str(value) for key, value in conninfo_to_dict(url).items()}
    except psycopg.ProgrammingError as error:
        raise ConfigError(
            f"invalid URL of an index in PostgreSQL: {_without_url(str(error), url)}",
            "write postgresql://HOST/DATABASE, or postgresql:///?service=NAME",
        ) from None
    if any("password" in key and key != "require_auth" for key in given):
        raise ConfigError(
            "the URL of the index contains a password (postgresql://…)",
            "remove it; keep the password in a service file, in ~/.pgpass, or use a client certificate",
        )
    resolved = _defaults(given.get("service", "")) | given
    mode = resolved.get("sslmode", "")
    if _is_local(resolved):
        return given
    if given.get("sslmode") or (mode and mode != "prefer"):
        if mode != _VERIFIED:
            raise ConfigError(
                f"sslmode={mode} does not check which server answers",
                "remove sslmode: verify-full is the default for a server on another machine",
            )
        return given
    given["sslmode"] = _VERIFIED
    home = os.path.expanduser("~/.postgresql/root.crt")
    if not resolved.get("sslrootcert") and not os.path.exists(home):
        given["sslrootcert"] = "system"
    return given


def shard_parameters(url: str, first: Mapping[str, str]) -> Parameters:
    """The parameters of a further server, whose URL names no user, with those that a reader gave for the
    first."""
    own = parameters_of(url)
    inherited = {key: first[key] for key in _INHERITED if key in first}
    if own.get("sslmode"):  # the first server may be on this machine
        inherited.pop("sslmode", None)
    return inherited | own


def location_of(given: Mapping[str, str]) -> str:
    """The address for people and for other readers: without users and files."""
    hosts = given.get("host", "").split(",")
    ports = given.get("port", "").split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    places = ",".join(
        f"{quote(host, safe='' if host.startswith('/') else '[]:')}{':' * bool(port)}{port}"
        for host, port in zip(hosts, ports, strict=False)
    )
    options = {key: given[key] for key in _SAFE if key in given}
    query = f"?{urlencode(options)}" if options else ""
    return f"postgresql://{places}/{quote(given.get('dbname', ''))}{query}"


def _is_local(resolved: Mapping[str, str]) -> bool:
    """Whether every host is this machine: a socket or a loopback address."""
    hosts = (resolved.get("hostaddr") or resolved.get("host") or "").split(",")
    return all(host in ("", "localhost") or host[0] in "/@" or _is_loopback(host) for host in hosts)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _defaults(service: str) -> Parameters:
    """What libpq takes from the environment and from the service file."""
    with _resolving:
        before = os.environ.get("PGSERVICE")
        if service:
            os.environ["PGSERVICE"] = service
        try:
            options = pq.Conninfo.get_defaults()
        except psycopg.Error as error:
            raise ConfigError(
                f"cannot use the service {service or before!r}: {error}", "see ~/.pg_service.conf"
            ) from None
        finally:
            if before is None:
                os.environ.pop("PGSERVICE", None)
            else:
                os.environ["PGSERVICE"] = before
    return {one.keyword.decode(): one.val.decode() for one in options if one.val}


def _without_url(message: str, url: str) -> str:
    return message.replace(url, "…").partition("\n")[0]
