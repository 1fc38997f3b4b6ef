"""Federated averaging as Flower has it, with the time at which each round began and ended."""

import json
import time
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

app = ServerApp()


class TimedAveraging(FedAvg):
    """The first round begins when all clients are there; every other one at the end of the one before it."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.times = []

    def configure_train(self, server_round, arrays, config, grid):
        messages = list(super().configure_train(server_round, arrays, config, grid))
        if not self.times:
            self.times.append(time.monotonic())
        return messages

    def aggregate_train(self, server_round, replies):
        aggregated = super().aggregate_train(server_round, replies)
        self.times.append(time.monotonic())
        return aggregated


@app.main()
def main(grid: Grid, context: Context) -> None:
    config = context.run_config
    n_clients = config["clients"]
    strategy = TimedAveraging(fraction_evaluate=0.0, min_train_nodes=n_clients, min_available_nodes=n_clients)
    initial = ArrayRecord([np.zeros(config["numbers"], dtype=np.float32)])
    result = strategy.start(grid=grid, initial_arrays=initial, num_rounds=config["rounds"])
    model = result.arrays.to_numpy_ndarrays()[0]
    seconds = [end - begin for begin, end in zip(strategy.times, strategy.times[1:])]
    out = Path(config["out"])
    out.with_suffix(".new").write_text(json.dumps({"seconds": seconds, "model": model.tolist()}))
    out.with_suffix(".new").rename(out)
