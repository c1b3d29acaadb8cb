"""Faults that pass by a server while it is used."""

import os
import random
import shutil
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from threading import Event

from headlight.app.server.guard import MIN_SECONDS
from tests.hostile import damaged
from tests.sessions.restarting import Server
from tests.sessions.visits import HUB_MODEL
from tests.small_model import save_small

COMMIT = "0" * 40
HOSTILE = 20  # folders that are there at a time
JUMPS = (-86_400, -60, 0, 60, 3_600, 40 * 86_400)  # seconds by which the clock differs


class Faults:
    """The faults of one soak; `is_over` ends those that last."""

    def __init__(self, server: Server, models: Path, seed: int, is_over: Event, count: Callable[[str], None]) -> None:
        self._server, self._models, self._is_over, self._count = server, models, is_over, count
        self._rng = random.Random(seed)
        ending = [self.kill, self.terminate, self.truncate_cache]
        self._ending = cycle([self.kill_worker, *ending] if server.n_workers > 1 else ending)
        self.drained = list[float]()  # seconds that each stop took
        repository = server.hub / "hub" / f"models--{HUB_MODEL.replace('/', '--')}"
        self._blobs, self._snapshot = repository / "blobs", repository / "snapshots" / COMMIT
        self._cache_model(repository)

    def one(self, may_end: bool) -> None:
        """Let one pass; with `may_end` it may be one that ends the process that serves."""
        do = [self.replace_model, self.truncate_model, self.damage_models, self.fill_disk, self.move_clock]
        fault = next(self._ending) if may_end and self._rng.random() < 0.2 else self._rng.choice(do)
        self._count(f"fault: {fault.__name__}")
        fault()

    def _cache_model(self, repository: Path) -> None:
        """Put a model into the hub's cache, as a download does: files by their content, and links to them by name."""
        self._snapshot.mkdir(parents=True)
        self._blobs.mkdir()
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text(COMMIT)
        for number, file in enumerate(sorted(self._server.small.iterdir())):
            shutil.copy(file, self._blobs / f"{number:064}")
            (self._snapshot / file.name).symlink_to(self._blobs / f"{number:064}")

    def truncate_cache(self) -> None:
        """Cut a cached download short, and download it again some seconds later."""
        file = self._snapshot / "model.safetensors"
        os.truncate(file, len(self._server.whole) // 2)
        self._is_over.wait(5)
        again = file.resolve().with_name("again")
        again.write_bytes(self._server.whole)
        again.rename(file.resolve())

    def replace_model(self) -> None:
        """Move another folder into the place of one that may be open."""
        fresh, place = self._models.parent / "fresh", self._models / "replaced"
        shutil.rmtree(fresh, ignore_errors=True)
        save_small(fresh)
        shutil.rmtree(place, ignore_errors=True)
        fresh.rename(place)

    def truncate_model(self) -> None:
        """Cut a file short that may be open."""
        for file in (self._models / "replaced").glob("*.safetensors"):
            os.truncate(file, file.stat().st_size // 2)

    def damage_models(self) -> None:
        """Put hostile folders into the place of those before."""
        for number, content in enumerate(damaged(self._server.whole, HOSTILE, self._rng.randrange(10**6))):
            place = self._models / f"hostile-{number}"
            place.mkdir(exist_ok=True)
            for file in self._server.small.iterdir():
                shutil.copy(file, place)
            (place / "model.safetensors").write_bytes(content)
            self._count("hostile folder")

    def fill_disk(self) -> None:
        """Let the server write nothing for some seconds."""
        with self._server.full_disk():
            self._is_over.wait(5)

    def move_clock(self) -> None:
        """Let the clock jump, back or ahead."""
        self._server.move_clock(self._rng.choice(JUMPS))

    def kill(self) -> None:
        """End the serving process as the system does; its guard starts it again."""
        self._is_over.wait(MIN_SECONDS)  # what ends sooner is not started again
        self._server.kill()
        self._server.wait_until_ready()

    def kill_worker(self) -> None:
        """End one of several workers, whose sessions go on when it has been started again."""
        self._server.kill(self._rng.randint(1, self._server.n_workers))
        self._server.wait_until_ready()

    def terminate(self) -> None:
        """Stop the server as its operator does, and start it again."""
        self.drained.append(self._server.terminate())
        self._server.start()
