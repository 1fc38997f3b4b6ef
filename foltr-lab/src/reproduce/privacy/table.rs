//! FPDGD as published, its mechanism made sound, and clipped Gaussian noise, side by side with no privacy at all.

use anyhow::{Context, Result};
use foltr_federation::accountant::PrivacyCost;

use super::calibration::laplace_label;
use super::choice::{Candidates, Chosen, choose, told_loss};
use super::clients::{SPEC, few_rounds, gaussian, unprotected};
use super::{Collection, DELTA, INTERACTIONS, USERS, collections};
use crate::reproduce::Study;
use crate::table::table as drawn;

/// Clients of every row.
const N_CLIENTS: usize = 1000;

/// FPDGD's schedule: B = 2, 200 rounds, Delta = 5.
const FPDGD_INTERACTIONS: usize = 2;
const FPDGD_ROUNDS: u32 = (INTERACTIONS / N_CLIENTS / FPDGD_INTERACTIONS) as u32;
const SENSITIVITY: f64 = 5.0;

/// The largest loss of nDCG@10 that a guarantee may cost, by epsilon.
const LIMITS: [(f64, f64); 2] = [(4.5, 0.005), (1.2, 0.010)];

/// One row: what it is, what it guarantees, what it reaches.
struct Row {
    name: String,
    guarantee: String,
    chosen: Vec<Chosen>,
}

pub(super) fn table(study: &mut Study<'_>) -> Result<()> {
    for collection in collections(study) {
        let rows = rows(study, &collection)?;
        let [unprotected, .., sound_large, sound_small] = rows.as_slice() else { anyhow::bail!("six rows") };
        for (row, (epsilon, limit)) in [sound_large, sound_small].into_iter().zip(LIMITS) {
            judge(study, &collection, row, unprotected, epsilon, limit)?;
        }
        study.table(
            &format!("nDCG@10 of test queries, {}: {} clients, 400,000 interactions", collection.data.name, N_CLIENTS),
            &shown(&rows),
        );
    }
    study.note(
        "guarantees are of one client over the whole run at delta = 1e-5; FPDGD's would hold against an observer of the \
         sums only, and nothing holds against a server that reads its single messages",
    );
    Ok(())
}

fn rows(study: &mut Study<'_>, collection: &Collection) -> Result<Vec<Row>> {
    let n_seeds = study.either(1, 3);
    let n_params = if collection.is_large { 136 } else { 46 };
    let published = PrivacyCost::Laplace { scale: SENSITIVITY / 4.5, shift: SENSITIVITY, n_params };
    let published = published.after(FPDGD_ROUNDS, DELTA).epsilon;
    let label = laplace_label(4.5, SENSITIVITY, n_params, FPDGD_ROUNDS);
    let mut rows = vec![Row {
        name: "no privacy".into(),
        guarantee: "none".into(),
        chosen: choose(study, collection, &unprotected(N_CLIENTS), n_seeds)?,
    }];
    rows.push(Row {
        name: "no privacy, as few rounds".into(),
        guarantee: "none".into(),
        chosen: choose(study, collection, &few_rounds(N_CLIENTS), n_seeds)?,
    });
    for (slug, name, label, guarantee) in [
        ("fpdgd", "FPDGD as published, \"4.5\"", 4.5, format!("{published:.0}")),
        ("fpdgd-sound", "FPDGD's mechanism made sound, not re-tuned", label, "4.5".into()),
    ] {
        let chosen = choose(study, collection, &fpdgd(slug, label), n_seeds)?;
        rows.push(Row { name: name.into(), guarantee, chosen });
    }
    for (epsilon, _) in LIMITS {
        rows.push(Row {
            name: "clipped update, Gaussian noise".into(),
            guarantee: epsilon.to_string(),
            chosen: choose(study, collection, &gaussian(N_CLIENTS, epsilon), n_seeds)?,
        });
    }
    Ok(rows)
}

/// FPDGD with the paper's clip radius and its server, which averages.
fn fpdgd(slug: &str, label: f64) -> Candidates<'static> {
    let privacy = format!(
        "privacy={{ kind = \"distributed-laplace\", epsilon = {label}, sensitivity = {SENSITIVITY:?}, clip = \"paper\" }}"
    );
    Candidates {
        slug: slug.into(),
        spec: SPEC,
        overrides: vec![
            format!("clients.n_clients={N_CLIENTS}"),
            format!("clients.interactions={FPDGD_INTERACTIONS}"),
            "federation.optimiser.rate=1.0".into(),
            "federation.average_last=0.005".into(),
            privacy,
        ],
    }
}

/// Whether the loss against no privacy stays within a limit, for each kind of users.
fn judge(
    study: &mut Study<'_>,
    collection: &Collection,
    own: &Row,
    unprotected: &Row,
    epsilon: f64,
    limit: f64,
) -> Result<()> {
    for (own, other) in own.chosen.iter().zip(&unprotected.chosen) {
        let loss = own.loss_against(other).context("runs pair up")?;
        let claim = format!(
            "{}, {} users, {N_CLIENTS} clients: ({epsilon}, 1e-5) costs at most {limit} of nDCG@10",
            collection.data.name, own.users
        );
        study.claim(claim, loss.mean <= limit, told_loss(&loss));
    }
    Ok(())
}

fn shown(rows: &[Row]) -> String {
    let mut header = vec!["method", "epsilon"];
    header.extend(USERS);
    header.push("chosen on validation queries");
    let cells = rows.iter().map(|row| {
        let mut cells = vec![row.name.clone(), row.guarantee.clone()];
        cells.extend(row.chosen.iter().map(|chosen| format!("{:.4}", chosen.mean())));
        let words = row.chosen.iter().filter(|chosen| !chosen.words.is_empty());
        cells.push(words.map(|chosen| format!("{}: {}", chosen.users, chosen.words)).collect::<Vec<_>>().join("\n"));
        cells
    });
    drawn(&header, 2, cells.collect())
}
