"""Where the pinned numbers of foltr-federation/src/accountant/loss_distribution/tests.rs come from.

Run by hand, outside of the tests: pip install dp-accounting==0.6.0 && python
foltr-federation/tests/compare_with_dp_accounting.py
prints, for each composition, an interval that holds the true epsilon: from Google's accountant of privacy losses with a
fine grid, once rounded down and once up. Directions of neighbours: the worse of add and remove.
"""

import math

from dp_accounting.pld import privacy_loss_distribution as pld

DELTA = 1e-5


def interval(name, make, delta=DELTA):
    """`make(pessimistic)` gives the composed law of privacy losses."""
    low, high = (make(pessimistic).get_epsilon_for_delta(delta) for pessimistic in (False, True))
    print(f"{name}, delta {delta:g}: {low:.6f} to {high:.6f}")


def subsampled(q, z, n, step, delta=DELTA):
    def make(pessimistic):
        one = pld.from_gaussian_mechanism(
            z, sampling_prob=q, value_discretization_interval=step,
            pessimistic_estimate=pessimistic, use_connect_dots=pessimistic,
        )
        return one.self_compose(n)

    interval(f"q {q}, z {z}, {n} rounds", make, delta)


def response(p, n_outcomes, n, step, delta=DELTA):
    # dp_accounting's parameter is the probability of an answer that is drawn among all outcomes.
    noise = (1 - p) * n_outcomes / (n_outcomes - 1)

    def make(pessimistic):
        one = pld.from_randomized_response(
            noise, n_outcomes, pessimistic_estimate=pessimistic, value_discretization_interval=step
        )
        return one.self_compose(n)

    interval(f"truth {p} of {n_outcomes}, {n} answers", make, delta)


def mixture(step):
    def make(pessimistic):
        options = dict(
            value_discretization_interval=step, pessimistic_estimate=pessimistic, use_connect_dots=pessimistic
        )
        sampled = pld.from_gaussian_mechanism(1.0, sampling_prob=0.02, **options).self_compose(500)
        gaussian = pld.from_gaussian_mechanism(5.0, **options).self_compose(10)
        answers = pld.from_randomized_response(
            (1 - 0.25) * 11 / 10, 11, value_discretization_interval=step, pessimistic_estimate=pessimistic
        ).self_compose(5)
        return sampled.compose(gaussian).compose(answers)

    interval("500 sampled (.02, 1), 10 Gaussian (5), 5 answers (.25 of 11)", make)


if __name__ == "__main__":
    subsampled(0.01, 0.747, 1000, 1e-5)
    subsampled(0.01, 1.0, 10_000, 1e-5)
    subsampled(0.1, 2.0, 1000, 1e-5)
    subsampled(0.1, 1.0, 100, 2e-5)
    subsampled(0.5, 3.0, 200, 2e-5)
    subsampled(0.001, 0.6, 10_000, 1e-5)
    subsampled(0.1, 2.0, 1000, 1e-5, delta=1e-10)
    subsampled(0.9, 10.0, 200, 1e-5)
    response(0.25, 11, 200, math.log(0.25 * 10 / 0.75) / 1000)
    response(0.5, 11, 200, math.log(10.0) / 1000)
    response(0.01, 1024, 200, math.log(0.01 * 1023 / 0.99) / 1000)
    mixture(1e-5)
