"""The cache of Kafka's jars: what is checked, and what a failure says."""

from __future__ import annotations

import hashlib
import re
import threading
from typing import TYPE_CHECKING

import pytest
import tenacity

from deploy.local import StackError, jars

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = b"what the registry serves"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lock = tmp_path / "kafka.lock"
    lock.write_text(f"# two jars\norg.example:one:1.0 {SHA256}\norg.example:two:2.0 {SHA256}\n")
    monkeypatch.setattr(jars, "LOCK", lock)
    monkeypatch.setattr(jars, "WAIT", tenacity.wait_none())
    monkeypatch.setenv("RATING_LOCAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Registry:
    """Serves a content for each jar, after so many failures each."""

    def __init__(self, content: bytes = CONTENT, failures: int = 0) -> None:
        self.content = content
        self.failures = failures
        self.asked: list[str] = []

    def __call__(self, jar: jars.Jar, scratch: Path) -> Path:
        self.asked.append(jar.coordinate)
        path = scratch / jar.filename
        if self.asked.count(jar.coordinate) <= self.failures:
            path.write_bytes(self.content[:3])
            raise ConnectionError("connection broken in the middle")
        path.write_bytes(self.content)
        return path


def test_each_jar_is_downloaded_once(cache: Path) -> None:
    """A second fetch downloads nothing."""
    registry = Registry()
    assert jars.fetch(download=registry) == [cache / "jars" / "one-1.0.jar", cache / "jars" / "two-2.0.jar"]
    jars.fetch(download=registry)
    assert sorted(registry.asked) == ["org.example:one:1.0", "org.example:two:2.0"]


def test_a_flaky_download_is_tried_again(cache: Path) -> None:
    """Half a file of a broken try is neither taken for the jar nor left behind."""
    jars.fetch(download=Registry(failures=2))
    assert sorted(path.name for path in (cache / "jars").iterdir()) == [".lock", "one-1.0.jar", "two-2.0.jar"]


def test_a_download_that_never_comes_says_what_to_do(cache: Path) -> None:
    """The error names the jar, the folder, the cause and the command."""
    with pytest.raises(StackError, match=r"org\.example:(one|two).* could not be downloaded") as raised:
        jars.fetch(download=Registry(failures=99))
    for part in (str(cache / "jars"), "connection broken in the middle", "python -m deploy.local fetch"):
        assert part in str(raised.value)


def test_another_content_than_the_locked_one_is_refused(cache: Path) -> None:
    """What a proxy served in the jar's stead is not kept."""
    with pytest.raises(StackError, match=rf"SHA-256 is .*, expected {SHA256}"):
        jars.fetch(download=Registry(content=b"<html>please log in</html>"))
    assert [path.name for path in (cache / "jars").iterdir()] == [".lock"]


def test_a_jar_that_changed_in_the_cache_is_found(cache: Path) -> None:
    """Every fetch checks every jar, and says which is broken, where it lies and what to do."""
    jars.fetch(download=Registry())
    broken = cache / "jars" / "two-2.0.jar"
    broken.write_bytes(CONTENT[:-1])
    with pytest.raises(StackError, match=re.escape(f"{broken} has changed")) as raised:
        jars.fetch(download=Registry())
    assert "python -m deploy.local fetch" in str(raised.value)


def test_a_cache_that_cannot_be_written_says_so(cache: Path) -> None:
    """The error names the folder and the variable that moves it."""
    cache.write_text("a file stands where the folder should be")
    with pytest.raises(StackError, match="RATING_LOCAL_CACHE") as raised:
        jars.fetch(download=Registry())
    assert str(cache) in str(raised.value)


def test_what_a_killed_run_left_is_tidied_up(cache: Path) -> None:
    """Half a download does not stay for ever."""
    left = cache / "jars" / ".partial-abc"
    left.mkdir(parents=True)
    jars.fetch(download=Registry())
    assert not left.exists()


def test_two_runs_fill_the_cache_side_by_side() -> None:
    """One downloads, the other waits and finds all there."""
    registry = Registry()
    runs = [threading.Thread(target=jars.fetch, kwargs={"download": registry}) for _ in range(2)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert len(registry.asked) == 2


def test_the_lock_names_whole_jars(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock in the tree: Kafka's 46 jars, each once, each with a SHA-256, and no registry."""
    monkeypatch.undo()
    locked = jars.locked()
    assert len(locked) == len({jar.filename for jar in locked}) == 46
    assert all(re.fullmatch(r"[0-9a-f]{64}", jar.sha256) for jar in locked)
    assert "://" not in jars.LOCK.read_text()
