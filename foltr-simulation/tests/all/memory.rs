//! What must not be in memory: a million clients, rankers of clients' own beyond what is counted, a whole user log.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write};

use foltr_rank::personal::{Additive, Clusters, Ditto, Interpolation, Personalisation};
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::{Activation, Initialisation, Shape};
use foltr_simulation::cache::Cache;
use foltr_simulation::click::Preset;
use foltr_simulation::datasets::SyntheticShape;
use foltr_simulation::datasets::user_log::UserLog;
use foltr_simulation::federation_run::{FederationRun, FederationSettings};
use foltr_simulation::normalise::Normalisation;
use foltr_test::{in_own_process, peak_memory};

use crate::scene::{N_FEATURES, iid, settings};

/// Does something that may take so many MiB more than was used before.
fn within<T>(megabytes: u64, work: impl FnOnce() -> T) -> T {
    let before = peak_memory();
    let done = work();
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        let grown = (after - before) >> 20;
        println!("{grown} MiB");
        assert!(grown < megabytes, "{grown} MiB");
    }
    done
}

#[test]
fn a_million_clients_fit_in_a_fraction_of_a_gibibyte() {
    in_own_process(|| {
        // 896 parameters: 15,625 chunk sums at once would be 112 MB, a million messages 3.6 GB.
        let shape = Shape::Mlp { n_features: N_FEATURES, n_hidden: 64, activation: Activation::Logistic };
        let initial = Initialisation::FanIn.params(shape, &mut Streams::new(1).open(Purpose::Initialisation, 0, 0));
        let settings = FederationSettings { shape, initial, n_clients: 1_000_000, ..settings() };
        let partition = iid(SyntheticShape::Tiny, 50, Preset::Navigational, 1);
        within(64, || {
            let mut run = FederationRun::new(settings, &partition).expect("sound settings");
            assert_eq!(run.round().expect("a round").n_interactions, 1_000_000);
        });
    });
}

#[test]
fn a_hundred_thousand_personal_rankers_fit_in_a_fraction_of_a_gibibyte() {
    in_own_process(|| {
        const N_CLIENTS: u32 = 100_000;
        let partition = iid(SyntheticShape::Mq2007, 100, Preset::Navigational, 1);
        let shape = Shape::Linear { n_features: 46 };
        let plain = FederationSettings { shape, initial: vec![0.0; 46], n_clients: N_CLIENTS, ..settings() };
        within(128, || {
            // Numbers of a client by method: a ranker, evidence for four clusters or five weights, or both.
            for (method, n_values) in [
                (
                    Personalisation::Additive(Additive {
                        n_clusters: 4,
                        memory: 0.99,
                        own_rate: 1.0,
                        own_decay: 0.002,
                    }),
                    50,
                ),
                (Personalisation::Interpolation(Interpolation { memory: 0.99 }), 51),
                (Personalisation::Ditto(Ditto { pull: 0.01 }), 46),
                (Personalisation::Clusters(Clusters { n_clusters: 4, memory: 0.99 }), 4),
            ] {
                let settings = FederationSettings { personalisation: Some(method), ..plain.clone() };
                let mut run = FederationRun::new(settings, &partition).expect("sound settings");
                assert_eq!(run.states().n_bytes(), N_CLIENTS as usize * n_values * 4, "{method:?}");
                assert_eq!(run.round().expect("a round").n_interactions, u64::from(N_CLIENTS));
                assert!(run.own_ranker(0).is_some() && run.own_ranker(N_CLIENTS - 1).is_some());
            }
        });
    });
}

#[test]
fn a_log_is_never_in_memory_as_a_whole() {
    in_own_process(|| {
        const N_QUERIES: usize = 20_000;
        const N_LOG_FEATURES: usize = 103;
        let folder = tempfile::tempdir().expect("a folder");
        let log = UserLog {
            letor: folder.path().join("letor.txt"),
            metadata: folder.path().join("metadata.csv"),
            min_queries: 1,
            max_users: None,
            test_share: 0.2,
            n_features: None,
            normalise: Normalisation::Query,
        };
        let mut letor = BufWriter::new(File::create(&log.letor).expect("a file"));
        let mut metadata = String::from("qid,user_id,timestamp\n");
        for query in 0..N_QUERIES {
            for doc in 0..20 {
                let mut line = format!("{} qid:{query}", u8::from(doc == query % 20));
                (1..=N_LOG_FEATURES).for_each(|feature| write!(line, " {feature}:{}", doc % 7).expect("a text grows"));
                writeln!(letor, "{line}").expect("a file");
            }
            writeln!(metadata, "{query},{},2006-03-01 07:{:02}:{:02}", query % 100, query / 60 % 60, query % 60)
                .expect("a text grows");
        }
        letor.into_inner().expect("a file");
        fs::write(&log.metadata, metadata).expect("a file");
        let cache = Cache::Folder(folder.path().join("cache"));
        // A block of text and its rows, the index, and the blocks that opening checks.
        let fold = within(160, || log.load(&cache).expect("a sound log"));
        assert_eq!(fold.train.n_queries() + fold.test.n_queries(), N_QUERIES);
        assert_eq!((fold.train.n_features(), fold.test.n_queries()), (N_LOG_FEATURES, N_QUERIES / 5));
        let n_bytes = fs::metadata(&log.letor).expect("a file").len() as usize;
        let features = size_of_val(fold.train.rows()) + size_of_val(fold.test.rows());
        assert!(n_bytes + features > 350 << 20, "{n_bytes} bytes of text, {features} of features");
    });
}
