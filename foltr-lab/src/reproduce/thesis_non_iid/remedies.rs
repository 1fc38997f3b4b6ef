//! Figures 4.4 and 4.7 of `W24`: FedProx, FedPer and data sharing, on preferences and on one label a client.

use anyhow::Result;

use super::reading::{self, Remedied};
use super::type_1::{both, tell_what_intents_are};
use super::type_2::{case, of_batch, one_label};
use super::{
    FED_PER, PREFERENCES, PREFERENCES_FED_PER, PREFERENCES_FED_PROX, Place, REMEDIES, Ranker, a_client_a_label, length,
    notes,
};
use crate::plot::Sharing;
use crate::reproduce::course::USERS;
use crate::reproduce::series::{BY_USERS, Row, Series, Sheet, TEST, TRAIN};
use crate::reproduce::{Study, Wanted};
use crate::results::Results;
use crate::rows::MetricName;
use crate::spec::{Metric, Split};

/// Weights of FedProx in the thesis.
const WEIGHTS: [&str; 5] = ["0.001", "0.01", "0.1", "1.0", "10.0"];
/// What a quick run has of them for neural rankers.
const FEW_WEIGHTS: [&str; 3] = ["0.001", "0.1", "10.0"];
/// Interactions on the shared queries before the first round. The thesis names no number; this is some 40 a query on
/// MQ2008, after which PDGD changes little.
const WARM_UP: usize = 2000;

fn weights(study: &Study<'_>, ranker: Ranker) -> &'static [&'static str] {
    if study.is_quick() && ranker == Ranker::Neural { &FEW_WEIGHTS } else { &WEIGHTS }
}

fn listed(weights: &[&str]) -> String {
    format!("[{}]", weights.join(", "))
}

fn fed_prox<'a>(results: &'a Results, weights: &[&'a str], metric: MetricName) -> Vec<Series<'a>> {
    let series = |&weight: &&'a str| {
        Series::new(&format!("FedProx, mu = {weight}"), results, &[("learner.proximal", weight)], metric)
    };
    weights.iter().map(series).collect()
}

/// The averaged output layers, which the thesis evaluates and no client uses; then the clients' own.
fn fed_per(results: &Results, split: Split) -> [Series<'_>; 2] {
    let metric = Metric::Ndcg(10);
    [
        Series::new("FedPer, averaged", results, &[], MetricName::Offline(split, metric)),
        Series::new("FedPer, clients' own", results, &[], MetricName::Own(split, metric)),
    ]
}

/// Every kind of users with its remedies.
fn remedied(iid: &Series<'_>, skewed: &Series<'_>, remedies: &[&Series<'_>]) -> Result<Vec<Remedied>> {
    let of_users = |users: &str| {
        let runs = |series: &&Series<'_>| Ok((series.name.clone(), series.late(&BY_USERS, users)?));
        let remedies = remedies.iter().map(runs).collect::<Result<_>>()?;
        Ok(Remedied { case: case(iid, skewed, users, users.to_owned())?, remedies })
    };
    USERS.iter().map(|users| of_users(users)).collect()
}

/// Remedies on preferences: the second part of finding 14.
pub fn figure_4(study: &mut Study<'_>) -> Result<()> {
    let place = Place::of(study, Wanted::IntentChange);
    let mut plain = Vec::new();
    for ranker in Ranker::ALL {
        let more = [format!("learner.proximal={}", listed(weights(study, ranker)))];
        let results = place.runs(study, ranker, PREFERENCES, &[])?;
        plain.push((ranker, results, place.runs(study, ranker, PREFERENCES_FED_PROX, &more)?));
    }
    let of_fed_per = place.runs(study, Ranker::Neural, PREFERENCES_FED_PER, &[])?;
    let mut rows = Vec::new();
    for (ranker, results, of_fed_prox) in &plain {
        let [iid, skewed] = both(results);
        let mut remedies = fed_prox(of_fed_prox, weights(study, *ranker), TRAIN);
        let own: Vec<Series<'_>> =
            if *ranker == Ranker::Neural { fed_per(&of_fed_per, Split::Train).into() } else { Vec::new() };
        let all: Vec<&Series<'_>> = remedies.iter().chain(&own).collect();
        place.conclude(study, *ranker, 14, reading::closes_nothing(&remedied(&iid, &skewed, &all)?));
        let series = [iid, skewed].into_iter().chain(remedies.drain(..)).collect();
        rows.push(Row { title: format!("FedProx, {}", ranker.name()), series });
        if !own.is_empty() {
            let series = both(results).into_iter().chain(own).collect();
            rows.push(Row { title: format!("FedPer, {}", ranker.name()), series });
        }
    }
    let sheet = Sheet {
        file: "figure",
        title: "Thesis Figure 4.4: FedProx and FedPer on document preferences (Type 1)",
        subtitle: format!("{}; 4 clients, 5 interactions each; {}", place.data.name, length(study, &Ranker::ALL)),
        measure: "nDCG@10 on the training queries",
        columns: &BY_USERS,
        y_sharing: Sharing::Row,
        has_bands: true,
    };
    sheet.show(study, &rows)?;
    tell_what_intents_are(study, &place);
    Ok(())
}

/// Runs of all remedies on one label a client.
struct Ran {
    ranker: Ranker,
    place: Place,
    plain: Results,
    remedies: Results,
    fed_per: Option<Results>,
}

impl Ran {
    fn base(&self) -> [Series<'_>; 2] {
        [("IID", "iid"), ("one label", "one-label")].map(|(name, clients)| of_batch(&self.plain, name, clients, "5"))
    }
}

fn run(study: &mut Study<'_>, place: Place, ranker: Ranker) -> Result<Ran> {
    let plain = one_label(study, &place, ranker)?;
    let clients = a_client_a_label(&place);
    let n = place.n_shared(study);
    let mut more = clients.clone();
    more.extend([
        format!("grid.axis.remedy.sharing={{ \"partition.shared\" = {{ queries = {n} }} }}"),
        format!("grid.axis.remedy.warm-up={{ \"partition.shared\" = {{ queries = {n}, warm_up = {WARM_UP} }} }}"),
        format!("grid.axis.remedy.fed-prox={{ \"learner.proximal\" = {} }}", listed(weights(study, ranker))),
    ]);
    let remedies = place.runs(study, ranker, REMEDIES, &more)?;
    let fed_per = match ranker {
        Ranker::Linear => None,
        Ranker::Neural => Some(place.runs(study, ranker, FED_PER, &clients)?),
    };
    Ok(Ran { ranker, place, plain, remedies, fed_per })
}

/// Remedies on one label a client: finding 15.
pub fn figure_7(study: &mut Study<'_>) -> Result<()> {
    let mut all = Vec::new();
    for ranker in Ranker::ALL {
        for place in Place::for_labels(study, ranker) {
            all.push(run(study, place, ranker)?);
        }
    }
    let (mut with_sharing, mut with_others) = (Vec::new(), Vec::new());
    for ran @ Ran { ranker, place, remedies, .. } in &all {
        let [iid, skewed] = ran.base();
        let sharing = [("data sharing", "sharing"), ("data sharing after warm-up", "warm-up")]
            .map(|(name, label)| Series::new(name, remedies, &[("remedy", label)], TEST));
        let mut others = fed_prox(remedies, weights(study, *ranker), TEST);
        others.iter_mut().for_each(|series| series.labels.push(("remedy", "fed-prox")));
        others.extend(ran.fed_per.iter().flat_map(|results| fed_per(results, Split::Test)));
        let shared = remedied(&iid, &skewed, &sharing.each_ref())?;
        place.conclude(study, *ranker, 15, reading::restores_most(&shared));
        let other: Vec<&Series<'_>> = others.iter().collect();
        place.conclude(study, *ranker, 15, reading::closes_nothing(&remedied(&iid, &skewed, &other)?));
        let row = |series: Vec<_>| Row { title: place.title(*ranker), series };
        with_sharing.push(row(ran.base().into_iter().chain(sharing).collect()));
        with_others.push(row(ran.base().into_iter().chain(others).collect()));
    }
    let clients = format!("as many clients as labels, 5 interactions each; {}", length(study, &Ranker::ALL));
    let sheet = |file, title, subtitle, has_bands| Sheet {
        file,
        title,
        subtitle,
        measure: "nDCG@10 on test queries",
        columns: &BY_USERS,
        y_sharing: Sharing::Row,
        has_bands,
    };
    let title = "Thesis Figure 4.7: data sharing with one label a client (Type 2, #R = 1)";
    sheet("data-sharing", title, clients.clone(), true).show(study, &with_sharing)?;
    let title = "Thesis Figure 4.7: FedProx and FedPer with one label a client (Type 2, #R = 1)";
    sheet("fed-prox-and-fed-per", title, format!("{clients}; means without bands"), false).show(study, &with_others)?;
    let places: Vec<&Place> = all.iter().filter(|ran| ran.ranker == Ranker::Linear).map(|ran| &ran.place).collect();
    notes(study, &places, &Ranker::ALL);
    study.note(format!(
        "data sharing: as many draws as a tenth of the training queries, for every client; warm-up: {WARM_UP} interactions on them"
    ));
    Ok(())
}
