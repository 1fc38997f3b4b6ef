//! The measured cases: training, evaluation and parsing at the shapes of MQ2007 (41 x 46) and MSLR (120 x 136).

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use foltr_federation::Participation;
use foltr_federation::aggregate::{GeometricMedian, Krum, Median, MultiKrum, TrimmedMean};
use foltr_federation::privacy::{
    CentralMode, Clip, ClipRadius, DiscreteGaussian, DistributedLaplace, Duchi, Gaussian, PrivUnit, RandomisedResponse,
    SampledResponse, Unprotected,
};
use foltr_federation::{Aggregation, Defence, Mechanism, ServerOptimiser, Staleness};
use foltr_rank::learn::evolution::{EvolutionSettings, Reward};
use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
use foltr_rank::metric::WithoutRelevant;
use foltr_rank::personal::{Additive, Clusters, Ditto, Interpolation, LocalOnly, Personalisation};
use foltr_rank::rng::{Lineage, Purpose, Streams};
use foltr_rank::{Activation, ImpressionId, Initialisation, Models, Params, Session, Shape};
use foltr_simulation::centralised::{CentralisedRun, CentralisedSettings};
use foltr_simulation::click::{Cascade, Preset, Users};
use foltr_simulation::client_data::ClientData;
use foltr_simulation::client_round::TrainingSet;
use foltr_simulation::dataset::Dataset;
use foltr_simulation::datasets::{Synthetic, SyntheticShape};
use foltr_simulation::federation_run::{FederationRun, FederationSettings, Learning};
use foltr_simulation::letor::{ReadOptions, parse_letor};
use foltr_simulation::normalise::normalise_per_query;
use rand::RngExt;

use super::{Case, Report, Work, bandwidth, best_seconds, on_threads};
use foltr_experiment::evaluate::{Evaluator, SNAPSHOTS};
use foltr_experiment::spec::Metric;

/// Data of one shape, every query with the same number of documents.
struct Data {
    name: &'static str,
    /// Clients with as many interactions a round as the papers have on this collection.
    partition: ClientData,
    /// Clients with four, two for each sign of a perturbation.
    of_evolution: ClientData,
    held_out: Dataset,
}

impl Data {
    fn new(name: &'static str, shape: SyntheticShape, n_train: usize, n_test: usize, copies: usize) -> Result<Self> {
        let synthetic = Synthetic { n_train, n_test, n_validation: 0, fixed_docs: true, ..Synthetic::new(shape) };
        let mut fold = synthetic.generate(1)?;
        if shape == SyntheticShape::Mslr {
            // As the papers do on this collection.
            fold.train = normalise_per_query(&fold.train);
            fold.test = normalise_per_query(&fold.test);
        }
        let train = Dataset::concat(&vec![fold.train; copies])?;
        let max_label = train.max_label().max(fold.test.max_label());
        let users = Users::Cascade(Cascade::preset(Preset::Navigational, max_label)?);
        let n_interactions = if shape == SyntheticShape::Mslr { 2 } else { 4 };
        let training = TrainingSet::new(train, 10);
        let of_evolution = ClientData::iid(training.clone(), users.clone(), 4);
        Ok(Self {
            name,
            partition: ClientData::iid(training, users, n_interactions),
            of_evolution,
            held_out: fold.test,
        })
    }

    fn training(&self) -> &TrainingSet {
        &self.partition.sets()[0]
    }

    fn n_features(&self) -> usize {
        self.training().data().n_features()
    }

    fn query_bytes(&self) -> f64 {
        size_of_val(self.training().data().query(0).rows()) as f64
    }
}

pub fn measure(only: &str, mut report: impl FnMut(&str)) -> Result<Report> {
    report("data");
    let small = Data::new("mq2007", SyntheticShape::Mq2007, 1_000, 330, 1)?;
    // 2,000 queries of 65 KB, nine times over: more than 1 GiB, far beyond any cache.
    let large = Data::new("mslr", SyntheticShape::Mslr, 2_000, 2_000, 9)?;
    report("memory bandwidth");
    let bandwidth = bandwidth::measure(large.training().data());
    let mut bench = Bench { bandwidth, only, cases: Vec::new(), report: &mut report };
    bench.training(&small)?;
    bench.training(&large)?;
    bench.sessions(&small)?;
    bench.sessions(&large)?;
    bench.personalisation(&small)?;
    bench.defences(&small)?;
    bench.privacy(&small)?;
    bench.privacy(&large)?;
    bench.evaluation(&small)?;
    bench.evaluation(&large)?;
    bench.parsing(&small)?;
    bench.parsing(&large)?;
    Ok(Report { bandwidth_gb_per_s: bandwidth / 1e9, cases: bench.cases })
}

struct Bench<'a> {
    bandwidth: f64,
    only: &'a str,
    cases: Vec<Case>,
    report: &'a mut dyn FnMut(&str),
}

impl Bench<'_> {
    /// Measures one case, whose unit reads `bytes`.
    fn case(
        &mut self,
        (name, shape): (&'static str, &'static str),
        threads: usize,
        (unit, bytes): (&'static str, f64),
        work: impl FnMut() -> Work + Send,
    ) -> Result<()> {
        if !name.contains(self.only) {
            return Ok(());
        }
        (self.report)(&format!("{name} on {shape}, {threads} thread(s)"));
        let seconds = on_threads(threads, || best_seconds(work))?;
        let bandwidth_fraction = bytes / seconds / self.bandwidth;
        let (per_second, microseconds) = (1.0 / seconds, seconds * 1e6);
        self.cases.push(Case { name, shape, threads, unit, per_second, microseconds, bandwidth_fraction });
        Ok(())
    }

    fn training(&mut self, data: &Data) -> Result<()> {
        let n_features = data.n_features();
        let linear = Shape::Linear { n_features };
        let neural = Shape::Mlp { n_features, n_hidden: 64, activation: Activation::Logistic };
        let two_layer = Shape::Mlp { n_features, n_hidden: 10, activation: Activation::Relu };
        let initial = Initialisation::FanIn.params(neural, &mut Streams::new(1).open(Purpose::Initialisation, 0, 0));
        for (name, threads, settings) in [
            ("fpdgd-linear", 1, linear_pdgd(data.n_features())),
            ("fpdgd-linear", 2, linear_pdgd(data.n_features())),
            ("fpdgd-linear-trained", 1, pdgd(linear, trained(data, linear))),
            ("fpdgd-neural", 1, pdgd(neural, initial)),
            ("es-linear", 1, evolution(linear)),
            ("es-two-layer", 1, evolution(two_layer)),
        ] {
            self.federation(name, data, threads, settings)?;
        }
        let mut run = CentralisedRun::new(centralised(data, linear), data.training());
        self.case(("pdgd-linear", data.name), 1, ("interactions", data.query_bytes()), || {
            Work::units(run.round().expect("a rate that does not diverge").n_interactions as f64)
        })
    }

    /// What a device does for a query: a list that is drawn and stays open, and one that is clicked and ends.
    fn sessions(&mut self, data: &Data) -> Result<()> {
        const LISTS: usize = 64;
        let (queries, global) = (data.training().data(), vec![0.0; data.n_features()]);
        let mut session = Session::new(Shape::Linear { n_features: data.n_features() }, Learning::Pdgd(PDGD))?;
        let mut random = Streams::new(1).open(Purpose::Interaction, 0, 0);
        session.begin(Models { global: &global, clusters: &[] }, 0, &mut random)?;
        for (name, counts_ends) in [("session-rank", false), ("session-interaction", true)] {
            self.case((name, data.name), 1, ("lists", data.query_bytes()), || {
                let started = Instant::now();
                let mut show = |_| {
                    let query = random.random_range(0..queries.n_queries() as u32);
                    session.rank(queries.query(query as usize), 0, &mut random).expect("a sound query").impression
                };
                let shown: Vec<ImpressionId> = (0..LISTS).map(&mut show).collect();
                let ranked = started.elapsed();
                for impression in shown {
                    session.clicked(impression, 3, 0).expect("an open impression");
                    session.dismiss(impression).expect("an open impression");
                }
                let uncounted = if counts_ends { Duration::ZERO } else { started.elapsed() - ranked };
                Work { units: LISTS as f64, uncounted }
            })?;
        }
        Ok(())
    }

    /// 100,000 clients, of whom a thousand take part in a round: the plain loop, then each with a ranker of its own.
    fn personalisation(&mut self, data: &Data) -> Result<()> {
        let additive = |n_clusters| {
            Personalisation::Additive(Additive { n_clusters, memory: 0.99, own_rate: 1.0, own_decay: 0.002 })
        };
        for (name, personalisation) in [
            ("own-none", None),
            ("own-local-only", Some(Personalisation::LocalOnly(LocalOnly {}))),
            ("own-interpolation", Some(Personalisation::Interpolation(Interpolation { memory: 0.99 }))),
            ("own-ditto", Some(Personalisation::Ditto(Ditto { pull: 0.01 }))),
            ("own-clusters", Some(Personalisation::Clusters(Clusters { n_clusters: 4, memory: 0.99 }))),
            ("own-additive", Some(additive(1))),
            ("own-additive-clusters", Some(additive(4))),
        ] {
            let participation = Participation::Sample(1_000);
            let many = FederationSettings {
                n_clients: 100_000,
                participation,
                personalisation,
                ..linear_pdgd(data.n_features())
            };
            self.federation(name, data, 1, many)?;
        }
        Ok(())
    }

    /// Ten clients a round: the plain loop, then with rules that look at every message.
    fn defences(&mut self, data: &Data) -> Result<()> {
        let krum = Krum { attackers: 2, squared: false, neighbours: None };
        let alone = |rule| Defence { rule, ..Defence::NONE };
        for (name, defence) in [
            ("rule-mean", Defence::NONE),
            ("rule-krum", alone(Aggregation::Krum(krum))),
            ("rule-multi-krum", alone(Aggregation::MultiKrum(MultiKrum(krum)))),
            ("rule-trimmed-mean", alone(Aggregation::TrimmedMean(TrimmedMean { attackers: 2 }))),
            ("rule-median", alone(Aggregation::Median(Median {}))),
            ("rule-geometric-median", alone(Aggregation::GeometricMedian(GeometricMedian {}))),
            ("rule-recommended", Defence::recommended(2)),
        ] {
            self.federation(
                name,
                data,
                1,
                FederationSettings { n_clients: 10, defence, ..linear_pdgd(data.n_features()) },
            )?;
        }
        Ok(())
    }

    /// The linear cases of [`Self::training`] with every mechanism: their ratio is the price of privacy. Laplace noise
    /// that is drawn once for the sum, as simulations do, and as shares, which a lost message makes necessary.
    fn privacy(&mut self, data: &Data) -> Result<()> {
        let n_features = data.n_features();
        let laplace = Mechanism::DistributedLaplace(DistributedLaplace::new(5.0, 4.5, ClipRadius::ReleasedCode)?);
        let clipped = FederationSettings {
            learning: Learning::Pdgd(PdgdSettings { clip_radius: Some(5.0), ..PDGD }),
            privacy: laplace,
            ..linear_pdgd(data.n_features())
        };
        self.federation("fpdgd-laplace-shares", data, 1, FederationSettings { dropout: 1e-9, ..clipped.clone() })?;
        self.federation("fpdgd-laplace", data, 1, clipped)?;
        let gaussian = Gaussian::new(Clip::Fixed(0.2), 7.0, CentralMode::Sealed)?;
        for (name, privacy) in [
            ("fpdgd-gaussian", Mechanism::Gaussian(gaussian)),
            ("fpdgd-discrete-gaussian", Mechanism::DiscreteGaussian(DiscreteGaussian::new(0.2, 7.0, 900, 0)?)),
            ("fpdgd-duchi", Mechanism::Duchi(Duchi::new(1.0, 0.1)?)),
            ("fpdgd-priv-unit", Mechanism::PrivUnit(PrivUnit::new(1.0, 0.1, n_features)?)),
        ] {
            self.federation(name, data, 1, FederationSettings { privacy, ..linear_pdgd(data.n_features()) })?;
        }
        let response = RandomisedResponse::new(0.9, Reward::MaxRr, 10)?;
        let sampled = SampledResponse::new(0.9, Reward::MaxRr, 10)?;
        for (name, privacy) in [
            ("es-response", Mechanism::RandomisedResponse(response)),
            ("es-sampled-response", Mechanism::SampledResponse(sampled)),
        ] {
            let linear = Shape::Linear { n_features };
            self.federation(name, data, 1, FederationSettings { privacy, ..evolution(linear) })?;
        }
        Ok(())
    }

    /// Rounds of a federation that starts anew before it has learnt so much that its lists change.
    fn federation(
        &mut self,
        name: &'static str,
        data: &Data,
        threads: usize,
        settings: FederationSettings,
    ) -> Result<()> {
        const ROUNDS: usize = 20;
        self.case((name, data.name), threads, ("interactions", data.query_bytes()), || {
            let started = Instant::now();
            let partition = match settings.learning {
                Learning::Evolution { .. } => &data.of_evolution,
                _ => &data.partition,
            };
            let mut run = FederationRun::new(settings.clone(), partition).expect("sound settings");
            let uncounted = started.elapsed();
            let tally = |_| run.round().expect("a round of honest clients").n_interactions as f64;
            Work { units: (0..ROUNDS).map(tally).sum(), uncounted }
        })
    }

    fn evaluation(&mut self, data: &Data) -> Result<()> {
        let shape = Shape::Linear { n_features: data.n_features() };
        let mut models = vec![vec![0.0; data.n_features()]; SNAPSHOTS];
        for (i, model) in models.iter_mut().enumerate() {
            let mut stream = Streams::new(2).open(Purpose::Initialisation, i as u32, 0);
            *model = Initialisation::RandomNorm { norm: 1.0 }.params(shape, &mut stream);
        }
        // Every query counts, so that every pass reads all features.
        let evaluator = Evaluator::new(&data.held_out, &[Metric::Ndcg(10)], WithoutRelevant::Zero, None, 10);
        let bytes = size_of_val(data.held_out.rows()) as f64;
        let mut next = 0;
        self.case(("evaluate-linear", data.name), 1, ("passes", bytes), || {
            next = (next + 1) % SNAPSHOTS;
            std::hint::black_box(evaluator.evaluate(shape, &models[next..=next]));
            Work::units(1.0)
        })?;
        self.case(("evaluate-linear-batched", data.name), 1, ("passes", bytes), || {
            std::hint::black_box(evaluator.evaluate(shape, &models));
            Work::units(SNAPSHOTS as f64)
        })
    }

    fn parsing(&mut self, data: &Data) -> Result<()> {
        let text = letor_text(&data.held_out, 48 << 20);
        let options = ReadOptions { n_features: Some(data.n_features()), ..ReadOptions::default() };
        let megabytes = text.len() as f64 / 1e6;
        self.case(("parse-letor", data.name), 1, ("MB", 1e6), || {
            std::hint::black_box(parse_letor(text.as_bytes(), Path::new("bench.txt"), &options).expect("sound text"));
            Work::units(megabytes)
        })
    }
}

/// Text in the form of the public files: six decimals, a comment at the end, at least `n_bytes` of it.
fn letor_text(data: &Dataset, n_bytes: usize) -> String {
    let mut text = String::with_capacity(n_bytes + 4096);
    for query in (0..data.n_queries()).cycle() {
        let view = data.query(query);
        for (doc, label) in data.labels(query).iter().enumerate() {
            write!(text, "{label} qid:{}", data.query_id(query)).expect("memory");
            for (feature, value) in view.row(doc)[..data.n_features()].iter().enumerate() {
                write!(text, " {}:{value:.6}", feature + 1).expect("memory");
            }
            writeln!(text, " #docid = {query}-{doc}").expect("memory");
        }
        if text.len() >= n_bytes {
            break;
        }
    }
    text
}

/// A linear ranker after 200,000 interactions of centralised PDGD: its scores spread over many units.
fn trained(data: &Data, shape: Shape) -> Params {
    let mut run = CentralisedRun::new(centralised(data, shape), data.training());
    for _ in 0..50 {
        run.round().expect("a rate that does not diverge");
    }
    run.params().to_vec()
}

fn centralised(data: &Data, shape: Shape) -> CentralisedSettings {
    CentralisedSettings {
        seed: 1,
        shape,
        initial: vec![0.0; shape.n_params()],
        learning_rate: 0.1,
        decay: 1.0,
        batch: 1,
        max_displacement: None,
        n_interactions: 4_000,
        n_shown: 10,
        users: data.partition.users()[0].clone(),
    }
}

const PDGD: PdgdSettings = PdgdSettings {
    learning_rate: 0.1,
    updates: Updates::Immediate,
    n_shown: 10,
    clip_radius: None,
    proximal: 0.0,
    max_displacement: None,
};

fn pdgd(shape: Shape, initial: Params) -> FederationSettings {
    FederationSettings {
        seed: 1,
        shape,
        initial,
        learning: Learning::Pdgd(PDGD),
        n_clients: 1_000,
        personalisation: None,
        participation: Participation::Everyone,
        dropout: 0.0,
        average_from: None,
        staleness: Staleness::NONE,
        single_messages: false,
        absent: Vec::new(),
        lineage: Lineage::TRAINING,
        privacy: Mechanism::Unprotected(Unprotected { reward: Reward::MaxRr }),
        defence: Defence::NONE,
        attackers: None,
        optimiser: ServerOptimiser::LearningRate { rate: 1.0 },
    }
}

pub(super) fn linear_pdgd(n_features: usize) -> FederationSettings {
    pdgd(Shape::Linear { n_features }, vec![0.0; n_features])
}

fn evolution(shape: Shape) -> FederationSettings {
    let settings =
        EvolutionSettings { sigma: 0.01, antithetic: true, reward: Reward::MaxRr, n_interactions: 4, n_shown: 10 };
    FederationSettings {
        learning: Learning::Evolution { settings, published_stream: false },
        n_clients: 2_000,
        optimiser: ServerOptimiser::Adam { rate: 0.001, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 },
        ..pdgd(shape, vec![0.0; shape.n_params()])
    }
}
