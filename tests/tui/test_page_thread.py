"""The thread that reads documents with pages: in order, the latest of a name, and none left behind."""

from __future__ import annotations

import threading

from kebab_tui.tui.page_thread import PageThread

_PATIENCE_S = 60


def test_a_job_replaces_a_waiting_one_of_its_name() -> None:
    pages, done = PageThread(), list[str]()
    started, let, ended = (threading.Event() for _ in range(3))

    def first() -> None:
        started.set()
        assert let.wait(_PATIENCE_S)
        done.append("first")

    pages.run("page", first)
    assert started.wait(_PATIENCE_S)
    pages.run("page", lambda: done.append("replaced"))
    pages.run("locate", lambda: done.append("locate"))
    pages.run("page", lambda: done.append("last"))
    pages.run("end", ended.set)
    let.set()
    assert ended.wait(_PATIENCE_S)
    assert done == ["first", "locate", "last"]


def test_jobs_that_come_later_run_too() -> None:
    pages = PageThread()
    for _ in range(100):
        done = threading.Event()
        pages.run("page", done.set)
        assert done.wait(_PATIENCE_S)
