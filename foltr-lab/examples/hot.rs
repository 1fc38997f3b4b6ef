use foltr_federation::{privacy::Unprotected, *};
use foltr_rank::{
    learn::{evolution::*, pdgd::*},
    *,
};
use foltr_simulation::{click::*, client_round::*, datasets::*, federation_run::*};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let shape = if a[2] == "mslr" { SyntheticShape::Mslr } else { SyntheticShape::Mq2007 };
    let f = Synthetic { n_train: 1000, n_test: 10, n_validation: 0, fixed_docs: true, ..Synthetic::new(shape) }
        .generate(1)
        .unwrap();
    let tr = if a[2] == "mslr" { foltr_simulation::normalise::normalise_per_query(&f.train) } else { f.train.clone() };
    let tr = if a[2] == "mslr" { foltr_simulation::dataset::Dataset::concat(&vec![tr; 8]).unwrap() } else { tr };
    let t = TrainingSet::new(tr, 10);
    let nf = t.data().n_features();
    let ml = if a[2] == "mslr" { 4 } else { 2 };
    let lin = Shape::Linear { n_features: nf };
    let reward = Reward::MaxRr;
    let (sh, learning, b, n, opt) = match a[1].as_str() {
        "fpdgd" => (
            lin,
            Learning::Pdgd(PdgdSettings {
                learning_rate: 0.1,
                updates: Updates::Immediate,
                n_shown: 10,
                clip_radius: None,
            }),
            4,
            1000,
            ServerOptimiser::LearningRate { rate: 1.0 },
        ),
        "neural" => (
            Shape::Mlp { n_features: nf, n_hidden: 64, activation: Activation::Logistic },
            Learning::Pdgd(PdgdSettings {
                learning_rate: 0.1,
                updates: Updates::Immediate,
                n_shown: 10,
                clip_radius: None,
            }),
            4,
            1000,
            ServerOptimiser::LearningRate { rate: 1.0 },
        ),
        x => (
            if x == "es2" { Shape::Mlp { n_features: nf, n_hidden: 10, activation: Activation::Relu } } else { lin },
            Learning::Evolution {
                settings: EvolutionSettings { sigma: 0.01, antithetic: true, reward, n_interactions: 4, n_shown: 10 },
                published_stream: false,
            },
            4,
            2000,
            ServerOptimiser::Adam { rate: 0.001, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 },
        ),
    };
    let b = if a[2] == "mslr" && a[1] == "fpdgd" { 2 } else { b };
    let initial = if a[1] == "neural" {
        Initialisation::FanIn.params(sh, &mut rng::Streams::new(1).open(rng::Purpose::Initialisation, 0, 0))
    } else {
        vec![0.0; sh.n_params()]
    };
    let s = FederationSettings {
        seed: 1,
        shape: sh,
        initial,
        learning,
        n_clients: n,
        cohort: n,
        n_interactions: b,
        privacy: Privacy::Unprotected(Unprotected { reward }),
        optimiser: opt,
        users: Users::Cascade(Cascade::preset(Preset::Navigational, ml).unwrap()),
    };
    let secs: f64 = a.get(3).map_or(2.0, |x| x.parse().unwrap());
    let mut best = 0.0f64;
    let t0 = std::time::Instant::now();
    while t0.elapsed().as_secs_f64() < secs {
        let mut run = FederationRun::new(s.clone(), &t).unwrap();
        let t1 = std::time::Instant::now();
        let mut k = 0;
        for _ in 0..(if a[2] == "mslr" { 5 } else { 20 }) {
            k += run.round().unwrap().n_interactions;
        }
        best = best.max(k as f64 / t1.elapsed().as_secs_f64());
    }
    println!("{} {} {:.0}/s {:.3} us", a[1], a[2], best, 1e6 / best);
}
