"""Seconds per round of Flower: a SuperLink and SuperNodes on loopback, a model of 136 numbers.

    python3 -m venv target/flower/venv
    target/flower/venv/bin/pip install -r docs/campaigns/flower/requirements.txt
    target/flower/venv/bin/python docs/campaigns/flower/run.py

Every client adds 1 to every number, so what is measured is what a round costs beside training. Times are the server's own,
from the moment all clients are there. In Flower 1.41 a client asks for work, and the server for answers, every 3 seconds, which no
option changes: a round takes about a multiple of 3 seconds, and on a busy machine the next one. Measure on an idle machine.

Once it is installed, this measures foltr-server in the same way and says the ratio:

    cargo run --release -p foltr-server --example load -- rounds
"""

import argparse
import json
import os
import platform
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PROGRAMS = Path(sys.executable).parent
N_NUMBERS = 136


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--at-most", type=float, default=600, metavar="SECONDS", help="then everything is stopped")
    arguments = parser.parse_args()
    started = []
    # Whoever stops this program stops what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="foltr-flower-") as folder:
        try:
            report(arguments, measure(arguments, Path(folder), started))
        finally:
            stop(started, folder)


def measure(arguments, folder, started):
    deadline = time.monotonic() + arguments.at_most
    env = environment(folder)
    port, *node_ports = free_ports(1 + arguments.clients)
    address = f"127.0.0.1:{port}"
    (folder / "config.toml").write_text(
        f'[superlink]\ndefault = "loopback"\n\n[superlink.loopback]\naddress = "{address}"\ninsecure = true\n'
    )

    def start(name, *command):
        log = (folder / f"{name}.log").open("wb")
        path = str(PROGRAMS / command[0])
        started.append(subprocess.Popen([path, *command[1:]], env=env, stdout=log, stderr=log))

    start("superlink", "flower-superlink", "--insecure", "--disable-runtime-dependency-installation",
          "--host", "127.0.0.1", "--port", str(port))
    wait(lambda: is_open(port), deadline, folder, started, "the SuperLink does not listen")
    for i, own in enumerate(node_ports):
        start(f"supernode-{i}", "flower-supernode", "--insecure", "--superlink", address,
              "--host", "127.0.0.1", "--port", str(own))
    out = folder / "out.json"
    config = f'rounds={arguments.rounds} clients={arguments.clients} numbers={N_NUMBERS} out="{out}"'
    late = f"no result after {arguments.at_most:.0f} seconds"
    command = [str(PROGRAMS / "flwr"), "run", str(FOLDER / "app"), "loopback", "--run-config", config]
    try:
        left = deadline - time.monotonic()
        submitted = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=left)
    except subprocess.TimeoutExpired:
        sys.exit(late)
    if submitted.returncode != 0:
        sys.exit(f"flwr run failed:\n{submitted.stdout}{submitted.stderr}")
    wait(out.exists, deadline, folder, started, late)
    return json.loads(out.read_text())


def environment(folder):
    env = {key: value for key, value in os.environ.items() if not key.startswith("FLWR_")}
    env |= {"FLWR_HOME": str(folder), "FLWR_TELEMETRY_ENABLED": "0", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    env["PATH"] = f"{PROGRAMS}{os.pathsep}{env.get('PATH', '')}"
    return env


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def is_open(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def wait(is_done, deadline, folder, started, problem):
    while not is_done():
        ended = [process for process in started if process.poll() is not None]
        if ended or time.monotonic() > deadline:
            logs = "".join(f"--- {log.name}\n{log.read_text(errors='replace')[-3000:]}\n" for log in folder.glob("*.log"))
            sys.exit(f"{logs}{ended[0].args[0] + ' has ended' if ended else problem}")
        time.sleep(0.1)


def stop(started, folder):
    """Ends what was started here, and what that started in sessions of its own: all have this FLWR_HOME."""
    for process in started:
        process.terminate()
    limit = time.monotonic() + 15
    for process in started:
        try:
            process.wait(max(0.1, limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    # Those that are about to start others are looked for again.
    for _ in range(20):
        left = list(processes_of(folder))
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not left:
            break
        time.sleep(0.1)


def processes_of(folder):
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            # One that has ended and waits for its parent has no environment any more.
            if f"FLWR_HOME={folder}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name)
        except OSError:
            pass


def report(arguments, result):
    seconds, model = result["seconds"], result["model"]
    if model != [float(arguments.rounds)] * N_NUMBERS or len(seconds) != arguments.rounds:
        sys.exit(f"{len(seconds)} rounds led to {model[:3]}...; expected {arguments.rounds} everywhere")
    print(f"flwr {version('flwr')}, Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{arguments.clients} clients, {N_NUMBERS} numbers, {arguments.rounds} rounds")
    print(f"seconds per round: median {statistics.median(seconds):.3f}, from {min(seconds):.3f} to {max(seconds):.3f}")


if __name__ == "__main__":
    main()
