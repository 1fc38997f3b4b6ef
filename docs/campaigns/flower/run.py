"""Seconds per round of Flower: a SuperLink and SuperNodes on loopback, a model of 136 numbers.

    python3 -m venv target/flower/venv
    target/flower/venv/bin/pip install -r docs/campaigns/flower/requirements.txt
    target/flower/venv/bin/python docs/campaigns/flower/run.py

Every client adds 1 to every number, so what is measured is what a round costs beside training. Times are the server's own,
from the moment all clients are there.
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
# How often a SuperNode looks for new tasks, in seconds; Flower's own default is 1.
POLL = "FLWR_SUPEREXEC_TASK_POLL_INTERVAL"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--at-most", type=float, default=600, metavar="SECONDS", help="then everything is stopped")
    parser.add_argument("--poll", type=float, metavar="SECONDS", help=f"{POLL}, in place of Flower's default")
    arguments = parser.parse_args()
    started = []
    # Whoever stops this program stops what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="foltr-flower-") as folder:
        try:
            report(arguments, measure(arguments, Path(folder), started))
        finally:
            stop(started)


def measure(arguments, folder, started):
    deadline = time.monotonic() + arguments.at_most
    env = environment(folder, arguments.poll)
    port, *node_ports = free_ports(1 + arguments.clients)
    address = f"127.0.0.1:{port}"
    (folder / "config.toml").write_text(
        f'[superlink]\ndefault = "loopback"\n\n[superlink.loopback]\naddress = "{address}"\ninsecure = true\n'
    )

    def start(name, *command):
        log = (folder / f"{name}.log").open("wb")
        path = str(PROGRAMS / command[0])
        # A session of its own: it starts processes itself, and all of them are to be stopped.
        started.append(
            subprocess.Popen([path, *command[1:]], env=env, stdout=log, stderr=log, start_new_session=True)
        )

    start("superlink", "flower-superlink", "--insecure", "--disable-runtime-dependency-installation",
          "--host", "127.0.0.1", "--port", str(port))
    wait(lambda: is_open(port), deadline, folder, started, "the SuperLink does not listen")
    for i, own in enumerate(node_ports):
        start(f"supernode-{i}", "flower-supernode", "--insecure", "--superlink", address,
              "--host", "127.0.0.1", "--port", str(own))
    out = folder / "out.json"
    config = f'rounds={arguments.rounds} clients={arguments.clients} numbers={N_NUMBERS} out="{out}"'
    submitted = subprocess.run(
        [str(PROGRAMS / "flwr"), "run", str(FOLDER / "app"), "loopback", "--run-config", config],
        env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=deadline - time.monotonic(),
    )
    if submitted.returncode != 0:
        sys.exit(f"flwr run failed:\n{submitted.stdout}{submitted.stderr}")
    wait(out.exists, deadline, folder, started, f"no result after {arguments.at_most} seconds")
    return json.loads(out.read_text())


def environment(folder, poll):
    env = {key: value for key, value in os.environ.items() if not key.startswith("FLWR_")}
    env |= {"FLWR_HOME": str(folder), "FLWR_TELEMETRY_ENABLED": "0", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    env["PATH"] = f"{PROGRAMS}{os.pathsep}{env.get('PATH', '')}"
    if poll is not None:
        env[POLL] = str(poll)
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


def stop(started):
    for process in started:
        signal_group(process, signal.SIGTERM)
    limit = time.monotonic() + 15
    for process in started:
        try:
            process.wait(max(0.1, limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass
        # Also what it left behind.
        signal_group(process, signal.SIGKILL)
        process.wait()


def signal_group(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def report(arguments, result):
    seconds, model = result["seconds"], result["model"]
    if model != [float(arguments.rounds)] * N_NUMBERS or len(seconds) != arguments.rounds:
        sys.exit(f"{len(seconds)} rounds led to {model[:3]}...; expected {arguments.rounds} everywhere")
    print(f"flwr {version('flwr')}, Python {platform.python_version()}, {os.cpu_count()} cores")
    print(f"{arguments.clients} clients, {N_NUMBERS} numbers, {arguments.rounds} rounds")
    print(f"seconds per round: median {statistics.median(seconds):.3f}, from {min(seconds):.3f} to {max(seconds):.3f}")


if __name__ == "__main__":
    main()
