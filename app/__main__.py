"""Command `headlight`: checks the settings, and starts Streamlit's server with its share of them."""

import gc
import json
import os
import sys
from importlib.util import find_spec

from headlight import __version__
from headlight.app.server.flags import EVERYWHERE, Settings, parser
from headlight.app.server.guard import WORKER, guard


def server_options(chosen: Settings) -> list[str]:
    """Streamlit's own flags for those settings that concern the server rather than the page."""
    options = [f"--server.address={chosen.address}", f"--server.maxUploadSize={chosen.upload_mb}"]
    # The address to print: for 0.0.0.0 Streamlit would ask another machine for this one's public address.
    options += [f"--browser.serverAddress={'localhost' if chosen.address in EVERYWHERE else chosen.address}"]
    options += [f"--server.allowedHosts={host}" for host in chosen.allowed_hosts]
    return options + ([f"--server.port={chosen.port}"] if chosen.port else [])


def main() -> None:
    """Serve the page as the command's flags say, or say why not."""
    flags = sys.argv[1:]
    if flags[:1] == ["view"]:
        from headlight.app.view_file import main as view

        sys.exit(view(flags[1:]))
    if {"-h", "--help"} & set(flags):
        parser().print_help()
        return
    if "--version" in flags:
        print(f"headlight {__version__}")
        return
    if find_spec("streamlit") is None:
        sys.exit("The page needs more than the library: pip install 'headlight[app]', or 'path/to/clone[app]'.")
    worker = os.environ.pop(WORKER, "")
    restarted = not worker and guard()  # first, while this process is small
    gc.disable()  # until the imports are done, which memory.py freezes: collecting takes a fifth of the start
    from headlight.app.server.settings import SERVER, read  # here: --help answers without importing torch
    from headlight.model.base.errors import ConfigError

    try:
        chosen = read(flags, os.environ)
    except ConfigError as error:
        sys.exit(f"Headlight cannot start. {error}")
    if chosen.workers > 1 and not worker:
        from headlight.app.server.front import serve  # here: one process needs none

        gc.enable()
        sys.exit(serve(chosen, restarted))
    from streamlit.web import cli  # here: errors in the settings do not wait for it

    from headlight.app.server import stopping

    stopping.bound()
    options = server_options(chosen) + (["--server.headless=true"] if restarted else [])  # a browser is open already
    if worker:
        from headlight.app.server.front import Place
        from headlight.app.server.worker import take

        options += take(Place(*json.loads(worker)))
    cli.main(["run", str(SERVER), *options, "--", *flags], prog_name="streamlit")


if __name__ == "__main__":
    main()
