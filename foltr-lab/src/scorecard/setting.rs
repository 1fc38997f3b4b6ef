//! Who takes part: the federations of a scorecard, and the runs of one.

use anyhow::{Context, Result, bail};
use foltr_simulation::dataset::Dataset;
use foltr_simulation::datasets::Fold;

use super::attacks::promotion;
use super::collections::Collection;
use super::{ATTACKS, DEFENCES, Effort, NamedAttack, NamedDefence, load};
use crate::run::resolve_grades;
use crate::spec::Experiment;

/// A federation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// What the command line calls it.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Clients that a rule sees in one round.
    pub cohort: u32,
    /// All clients.
    pub n_clients: u32,
    /// `[learner]` and `[federation].optimiser` as TOML values.
    learner: (&'static str, &'static str),
}

const PDGD: (&str, &str) =
    ("{ kind = \"pdgd\", learning_rate = 0.1, updates = \"immediate\" }", "{ kind = \"learning-rate\", rate = 1.0 }");
const EVOLUTION: (&str, &str) = (
    "{ kind = \"evolution\", sigma = 0.01, antithetic = true, reward = \"max-rr\", stream = \"separate\" }",
    "{ kind = \"adam\", rate = 0.001, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 }",
);

/// All federations.
pub const SETTINGS: [Place; 3] = [
    Place {
        name: "cross-silo",
        about: "10 clients in every round (the thesis)",
        cohort: 10,
        n_clients: 10,
        learner: PDGD,
    },
    Place {
        name: "cross-device",
        about: "1,000 clients, 100 of them drawn for every round",
        cohort: 100,
        n_clients: 1000,
        learner: PDGD,
    },
    Place {
        name: "foltr-es",
        about: "100 clients that send a seed and a reward",
        cohort: 100,
        n_clients: 100,
        learner: EVOLUTION,
    },
];

impl Place {
    /// Whether messages are seeds and rewards.
    pub(super) fn is_evolution(&self) -> bool {
        self.learner == EVOLUTION
    }

    /// How many of its clients attack.
    ///
    /// # Errors
    /// If nobody would, or half of them.
    fn attackers(&self, share: f64) -> Result<u32> {
        let n = attackers(share, self.n_clients);
        if n == 0 || 2 * n >= self.n_clients {
            bail!(
                "--share: {share} of {} clients are {n}; at least one and fewer than half can attack",
                self.n_clients
            );
        }
        Ok(n)
    }
}

/// The federation with this name.
///
/// # Errors
/// If there is none.
pub(super) fn find(name: &str) -> Result<Place> {
    let found = SETTINGS.into_iter().find(|place| place.name == name);
    let names = SETTINGS.map(|place| place.name).join(", ");
    found.with_context(|| format!("--setting: there is no `{name}`; the names are {names}"))
}

/// One run.
#[derive(Clone, Debug)]
pub(super) struct Job<'a> {
    pub(super) data: &'a str,
    pub(super) setting: &'static str,
    pub(super) users: &'a str,
    pub(super) share: f64,
    pub(super) defence: &'static NamedDefence,
    /// None for the clean run.
    pub(super) attack: Option<&'static NamedAttack>,
    pub(super) seed: u64,
    pub(super) fold_number: usize,
    pub(super) fold: &'a Fold,
    /// What the promotion attack promotes, attacked or not.
    pub(super) promoted_feature: u32,
    pub(super) experiment: Experiment,
}

impl Job<'_> {
    /// Everything that its result depends on, but the program and the data files.
    pub(super) fn key(&self) -> String {
        let text = toml::to_string(&self.experiment).expect("an experiment that was read can be written");
        let promotion = promotion(self.promoted_feature);
        format!("{} fold {} seed {} {promotion:?} {text}", self.data, self.fold_number, self.seed)
    }

    /// For progress and errors.
    pub(super) fn name(&self) -> String {
        let attack = self.attack.map_or("no attack", |attack| attack.name);
        format!("{}, {}, {:.0} %, {}, {attack}", self.data, self.users, 100.0 * self.share, self.defence.name)
    }
}

/// How many of `n` clients attack.
pub(super) fn attackers(share: f64, n: u32) -> u32 {
    (share * f64::from(n)).round() as u32
}

/// The attackers that a defence reckons with in a round: all of them where everybody takes part; where the round is a
/// sample, three standard deviations more than are expected in it, but never half.
fn assumed(place: Place, share: f64) -> u32 {
    let expected = attackers(share, place.cohort);
    if place.cohort == place.n_clients {
        return expected;
    }
    let deviation = (f64::from(place.cohort) * share * (1.0 - share)).sqrt();
    (expected + (3.0 * deviation).ceil() as u32).min((place.cohort - 1) / 2)
}

/// The feature of the documents that are promoted, from 1: the first from a third of all on that differs among the
/// documents of nine queries in ten.
fn promoted_feature(data: &Dataset) -> Option<u32> {
    let n_features = data.n_features();
    let differs = |feature: usize, query: usize| {
        let view = data.query(query);
        let mut values = (0..view.n_docs()).map(|doc| view.row(doc)[feature]);
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let n_enough = 9 * data.n_queries() / 10;
    let is_fit = |&feature: &usize| (0..data.n_queries()).filter(|&query| differs(feature, query)).count() >= n_enough;
    (n_features / 3..n_features).find(is_fit).map(|feature| feature as u32 + 1)
}

/// What the runs of one seed have in common.
struct Common<'a> {
    effort: &'a Effort,
    place: Place,
    collection: &'a Collection,
    seed: u64,
    fold_number: usize,
    fold: &'static Fold,
    promoted_feature: u32,
}

/// All runs on one collection. Folds are read once and live as long as the program.
pub(super) fn jobs<'a>(effort: &'a Effort, place: Place, collection: &'a Collection) -> Result<Vec<Job<'a>>> {
    let (defences, attacks) = (chosen_defences(effort)?, chosen_attacks(effort)?);
    let attacks: Vec<_> = std::iter::once(None).chain(attacks.into_iter().map(Some)).collect();
    let mut jobs = Vec::new();
    for &seed in &effort.seeds {
        let common = Common::new(effort, place, collection, seed)?;
        for users in &effort.users {
            for &share in &effort.shares {
                for (&defence, &attack) in
                    defences.iter().flat_map(|defence| attacks.iter().map(move |it| (defence, it)))
                {
                    // Averaging is what all are compared with; it is attacked only if it was asked for.
                    if attack.is_none() || effort.defences.iter().any(|name| name == defence.name) {
                        jobs.extend(common.job(users, share, defence, attack)?);
                    }
                }
            }
        }
    }
    Ok(jobs)
}

impl<'a> Common<'a> {
    fn new(effort: &'a Effort, place: Place, collection: &'a Collection, seed: u64) -> Result<Self> {
        let folds = load(&mut parsed(&text(effort, place, collection, "perfect", seed))?)?;
        let (fold_number, fold) = folds.into_iter().cycle().nth(seed as usize - 1).context("there is no fold")?;
        let fold: &'static Fold = Box::leak(Box::new(fold));
        let differs = "no feature differs among the documents of most queries";
        let promoted_feature = promoted_feature(&fold.train).context(differs)?;
        Ok(Self { effort, place, collection, seed, fold_number, fold, promoted_feature })
    }

    /// One run; nothing where the defence cannot work.
    fn job(
        &self,
        users: &'a str,
        share: f64,
        defence: &'static NamedDefence,
        attack: Option<&'static NamedAttack>,
    ) -> Result<Option<Job<'a>>> {
        let Self { effort, place, collection, seed, fold_number, fold, promoted_feature } = *self;
        let attackers = place.attackers(share)?;
        let attack_section = attack.map(|attack| attack.section(attackers, promoted_feature));
        let Some(sections) = sections(place, share, defence, attack_section) else { return Ok(None) };
        let mut experiment = parsed(&(text(effort, place, collection, users, seed) + &sections))?;
        resolve_grades(&mut experiment, std::iter::once(fold));
        let (data, setting) = (collection.title.as_str(), place.name);
        Ok(Some(Job {
            data,
            setting,
            users,
            share,
            defence,
            attack,
            seed,
            fold_number,
            fold,
            promoted_feature,
            experiment,
        }))
    }
}

/// The named defences, with federated averaging: it is what all are compared with.
fn chosen_defences(effort: &Effort) -> Result<Vec<&'static NamedDefence>> {
    check("--defence", &effort.defences, DEFENCES.iter().map(|defence| defence.name))?;
    let is_chosen =
        |(i, defence): &(usize, &NamedDefence)| *i == 0 || effort.defences.iter().any(|name| name == defence.name);
    Ok(DEFENCES.iter().enumerate().filter(is_chosen).map(|(_, defence)| defence).collect())
}

fn chosen_attacks(effort: &Effort) -> Result<Vec<&'static NamedAttack>> {
    check("--attack", &effort.attacks, ATTACKS.iter().map(|attack| attack.name))?;
    Ok(ATTACKS.iter().filter(|attack| effort.attacks.iter().any(|name| name == attack.name)).collect())
}

fn check(flag: &str, wanted: &[String], known: impl Iterator<Item = &'static str>) -> Result<()> {
    let known: Vec<&str> = known.collect();
    match wanted.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => bail!("{flag}: there is no `{name}`; the names are {}", known.join(", ")),
        None => Ok(()),
    }
}

fn parsed(text: &str) -> Result<Experiment> {
    let told = |problems: Vec<crate::spec::Problem>| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        anyhow::anyhow!("the experiment of the scorecard is wrong: {}\n{text}", lines.join("; "))
    };
    Experiment::from_toml(text).map_err(told)
}

/// The experiment without `[attack]` and `[defence]`.
fn text(effort: &Effort, place: Place, collection: &Collection, users: &str, seed: u64) -> String {
    let data = collection.section.replace("{seed}", &seed.to_string());
    let (learner, optimiser) = place.learner;
    let interactions = if place.is_evolution() { 4 } else { 5 };
    let cohort = if place.cohort < place.n_clients { format!(", cohort = {}", place.cohort) } else { String::new() };
    format!(
        "seeds = [{seed}]\ndata = {data}\nclients = {{ n_clients = {}, interactions = {interactions}{cohort} }}\n\
         users = {{ kind = \"cascade\", preset = \"{users}\" }}\n\
         ranker = {{ kind = \"linear\", initialisation = {{ kind = \"zero\" }} }}\nlearner = {learner}\n\
         federation = {{ rounds = {}, optimiser = {optimiser} }}\n\
         metrics = {{ offline = [\"ndcg@10\"], evaluate_on = [\"validation\", \"test\"], evaluate = \"first-and-last\" }}\n",
        place.n_clients, effort.rounds
    )
}

/// `[attack]` and `[defence]`; nothing where the defence cannot work.
fn sections(place: Place, share: f64, defence: &NamedDefence, attack: Option<String>) -> Option<String> {
    let assumed = assumed(place, share);
    if !defence.is_possible(&place, assumed) {
        return None;
    }
    let mut text = String::new();
    if let Some(attack) = attack {
        text += &format!("attack = {attack}\n");
    }
    if let Some(defence) = defence.section(place.n_clients, assumed) {
        text += &format!("defence = {defence}\n");
    }
    Some(text)
}
