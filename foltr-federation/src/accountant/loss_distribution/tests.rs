use super::super::{PrivacyCost, bounds, gaussian, quick_bounds};
use super::*;

#[test]
fn show() {
    let sub = |q, z| PrivacyCost::Subsampled { probability: q, noise_multiplier: z };
    let resp = |p, n| PrivacyCost::Response { probability: p, n_outcomes: n, n_answers: 1 };
    let pure = |e| PrivacyCost::Pure { epsilon: e };
    for (costs, delta) in [
        (vec![(sub(0.01, 0.747), 1000)], 1e-5),
        (vec![(sub(0.01, 1.0), 10000)], 1e-5),
        (vec![(sub(0.1, 2.0), 1000)], 1e-5),
        (vec![(sub(0.1, 1.0), 100)], 1e-5),
        (vec![(sub(0.5, 3.0), 200)], 1e-5),
        (vec![(sub(0.001, 0.6), 10000)], 1e-5),
        (vec![(sub(0.1, 2.0), 1000)], 1e-10),
        (vec![(sub(0.9, 10.0), 200)], 1e-5),
        (vec![(resp(0.25, 11), 200)], 1e-5),
        (vec![(resp(0.5, 11), 200)], 1e-5),
        (vec![(resp(0.01, 1024), 200)], 1e-5),
        (vec![(pure(0.1), 1000)], 1e-5),
        (vec![(pure(1.2), 50)], 1e-5),
        (vec![(sub(0.02, 1.0), 500), (PrivacyCost::Gaussian { mu: 0.2 }, 10), (resp(0.25, 11), 5)], 1e-5),
        (vec![(sub(0.3, 0.3), 5)], 1e-5),
        (vec![(sub(1e-4, 0.5), 1000_000)], 1e-5),
        (vec![(sub(0.1, 20.0), 1000)], 1e-100),
    ] {
        let start = std::time::Instant::now();
        let (quick, known) = quick_bounds(&costs, delta);
        let t1 = start.elapsed();
        let e = epsilon(&costs, delta, known);
        eprintln!(
            "{costs:?} {delta}: renyi {:.6}, gauss {:.4}, losses {e:.6} {:.2}; {t1:?} {:?}",
            quick[1].epsilon,
            quick[2].epsilon,
            e / quick[1].epsilon,
            start.elapsed() - t1
        );
    }
    for mu in [0.05, 0.3, 1.0, 5.0, 50.0] {
        for delta in [1e-3, 1e-5, 1e-9, 1e-30] {
            let costs = [(sub(1.0, 1.0 / mu), 1)];
            let (_, known) = quick_bounds(&costs, delta);
            let l = vec![(Loss::Sampled { probability: 1.0, mu }, 1)];
            let ours = in_direction(&l, Direction::Removed, delta, known);
            let l = vec![(Loss::Sampled { probability: 1.0, mu: mu / 1000f64.sqrt() }, 1000)];
            let many = in_direction(&l, Direction::Added, delta, known);
            let exact = gaussian::epsilon(mu, delta);
            eprintln!("mu {mu} {delta}: {exact} {:e} {:e}", ours / exact - 1.0, many / exact - 1.0);
        }
    }
    let _ = bounds(&[], 0.1);
}
