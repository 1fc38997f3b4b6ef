//! Tables 2 and 3 of `DKA17` on the collections at hand. Its own, Robust04 and the AOL query log, are not among them.

use anyhow::Result;

use super::{FULL, Mimicked, PARTITIONED, Study, WEAK};
use crate::data;
use crate::mimic::Summary;
use crate::reproduce::Wanted;
use crate::reproduce::tally::Tally;

/// What the student may lack of its teacher where the two are called equal.
const ABOUT: f64 = 0.01;
const WHY: &str = "Robust04 and the AOL log are not at hand; another collection stands in";

/// A collection, and what its experiments need to know.
struct Collection {
    name: String,
    slug: &'static str,
    is_text: bool,
    overrides: Vec<String>,
}

impl Collection {
    /// Text collections that are here, then feature files or what stands in for them.
    fn all(study: &Study<'_>) -> Vec<Self> {
        let text = [("Cranfield", "cranfield"), ("NFCorpus", "nfcorpus")];
        let is_here = |(_, folder): &(&str, &str)| data::found(std::path::Path::new(folder)).is_ok();
        let mut all: Vec<Self> = text
            .into_iter()
            .filter(is_here)
            .map(|(name, slug)| Self {
                name: name.into(),
                slug,
                is_text: true,
                overrides: vec![format!("data.path={slug}")],
            })
            .collect();
        for (wanted, slug) in [(Wanted::Mq2008, "mq2008"), (Wanted::Mq2007, "mq2007")] {
            let found = study.data(wanted);
            let overrides = vec![found.setting(), "data.normalise=query".into()];
            all.push(Self { name: found.name, slug, is_text: false, overrides });
        }
        // A small budget is for seeing that it works.
        if study.is_quick() {
            all.retain(|one| ["cranfield", "mq2008"].contains(&one.slug));
        }
        all
    }

    fn run(&self, study: &mut Study<'_>, what: &str, spec: super::Spec, more: &[&str]) -> Result<Mimicked> {
        let mut overrides = self.overrides.clone();
        overrides.extend(more.iter().map(|&one| one.to_owned()));
        if !self.is_text {
            // Queries of feature files have their documents: the section is for texts.
            overrides.push("public={}".into());
            // The whole document's BM25 in LETOR 4.0 files. Feature files are small: less training is enough.
            let weak = (what != "full").then_some("supervision.feature=37");
            let sizes =
                ["teacher.steps=200", "student.steps=300", "teacher.validate_every=50", "student.validate_every=50"];
            overrides.extend(weak.into_iter().chain(sizes).map(str::to_owned));
        }
        if study.is_quick() {
            overrides.extend(QUICK.map(str::to_owned));
            if self.is_text {
                overrides.extend(QUICK_TEXT.map(str::to_owned));
            }
            if what != "full" && self.is_text {
                overrides.push("supervision.n_queries=1500".into());
            }
        }
        let done = study.mimic(&format!("mimic-{}-{what}", self.slug), spec, &overrides)?;
        study.table(&format!("{}, {what} ({})", self.name, done.store.told()), &done.summary.told());
        Ok(done)
    }
}

/// A small budget: small networks, few steps, one seed.
const QUICK: [&str; 8] = [
    "seeds=[1]",
    "teacher.hidden=[64,64,64]",
    "teacher.dimensions=64",
    "teacher.steps=150",
    // Small networks bear the paper's rate, and need it in so few steps.
    "teacher.learning_rate=0.001",
    "student.hidden=[32,32,32]",
    "student.dimensions=64",
    "student.steps=150",
];
const QUICK_TEXT: [&str; 2] = ["public.n_queries=1000", "public.candidates=50"];

/// Tells the paper's numbers of some rankers beside ours.
fn tell(study: &mut Study<'_>, name: &str, summary: &Summary, rows: &[(&str, [f64; 3])]) {
    for (ranker, paper) in rows {
        let Some(line) = summary.line(ranker) else { continue };
        for ((measure, paper), ours) in ["MAP", "P@20", "nDCG@20"].into_iter().zip(paper).zip(line.means) {
            study.not_comparable(format!("{name}, {ranker}, {measure}"), Some(*paper), ours, WHY);
        }
    }
}

pub(super) fn table_2(study: &mut Study<'_>) -> Result<()> {
    let mut full = Tally::new();
    let mut weak = Tally::new();
    let mut better = Vec::new();
    for collection in Collection::all(study) {
        let name = &collection.name;
        let by_judgements = collection.run(study, "full", FULL, &[])?;
        let by_bm25 = collection.run(study, "weak", WEAK, &[])?;
        let rows = [("teacher", [0.1814, 0.2888, 0.3419]), ("student, mimic", [0.2256, 0.3111, 0.3891])];
        tell(study, &format!("{name}, full"), &by_judgements.summary, &rows);
        let rows = [("teacher", [0.2716, 0.3664, 0.4109]), ("student, mimic", [0.2701, 0.3562, 0.4145])];
        tell(study, &format!("{name}, weak"), &by_bm25.summary, &rows);
        for (done, tally, slack) in [(&by_judgements, &mut full, 0.0), (&by_bm25, &mut weak, ABOUT)] {
            let (teacher, student) = (done.ndcg("teacher"), done.ndcg("student, mimic"));
            tally.count(student > teacher - slack);
            tally.parts.push(format!("{name}: student {student:.4}, teacher {teacher:.4}"));
        }
        for (what, done) in [("full", &by_judgements), ("weak", &by_bm25)] {
            if let Some(test) = done.summary.compare("student, mimic + BM25", "BM25").filter(|_| collection.is_text) {
                better.push((format!("{name}, {what}"), test.difference, test.p));
            }
        }
    }
    let full = full.judged("full supervision, student above teacher");
    study.finding(26, full.holds, full.evidence);
    let weak = weak.judged("weak supervision, student at most .01 below teacher");
    study.finding(26, weak.holds, weak.evidence);
    if !better.is_empty() {
        // As many tests as cases: each must pass at its share of the level.
        let level = 0.05 / better.len() as f64;
        let holds = better.iter().any(|(_, difference, p)| *difference > 0.0 && *p < level);
        let told: Vec<String> =
            better.iter().map(|(case, difference, p)| format!("{case}: {difference:+.4} (p {p:.1e})")).collect();
        let claim = "a student beside BM25 ranks BM25's best 100 better than BM25, nDCG@20 (paired t-test, Bonferroni)";
        study.claim(claim.into(), holds, told.join("; "));
    }
    study.note("weights beside BM25 are chosen on validation queries; p is over queries, with means over seeds");
    study.note("queries that nobody typed: titles and sentences of the documents; the paper had 6 million real ones");
    Ok(())
}

pub(super) fn table_3(study: &mut Study<'_>) -> Result<()> {
    let mut tallies = [
        ("noisy student above its noisy aggregate", Tally::new()),
        ("noisy aggregate below the one without noise", Tally::new()),
        ("noisy student below the one without noise", Tally::new()),
        ("student without noise at most .01 below its aggregate", Tally::new()),
        ("aggregates and students below the mean of single teachers", Tally::new()),
    ];
    for collection in Collection::all(study) {
        let done = collection.run(study, "partitioned", PARTITIONED, &[])?;
        let rows = [
            ("teachers (mean)", [0.2566, 0.33, 0.3836]),
            ("aggregate, non-noisy", [0.238, 0.3055, 0.3702]),
            ("student, non-noisy", [0.2337, 0.3192, 0.3717]),
            ("aggregate, noisy", [0.211, 0.2868, 0.3407]),
            ("student, noisy", [0.2255, 0.2984, 0.3559]),
        ];
        tell(study, &collection.name, &done.summary, &rows);
        let [aggregate, student, noisy, noisy_student] =
            ["aggregate, non-noisy", "student, non-noisy", "aggregate, noisy", "student, noisy"]
                .map(|ranker| done.ndcg(ranker));
        let teachers = done.ndcg("teachers (mean)");
        let best = [aggregate, student, noisy, noisy_student].into_iter().fold(f64::MIN, f64::max);
        let cases = [
            noisy_student > noisy,
            noisy < aggregate,
            noisy_student < student,
            student > aggregate - ABOUT,
            best < teachers,
        ];
        for ((_, tally), holds) in tallies.iter_mut().zip(cases) {
            tally.count(holds);
            tally.parts.push(format!(
                "{}: {aggregate:.4} {student:.4}, noisy {noisy:.4} {noisy_student:.4}, teachers {teachers:.4}",
                collection.name
            ));
        }
    }
    for (what, tally) in tallies {
        let judged = tally.judged(what);
        study.finding(27, judged.holds, judged.evidence);
    }
    study.note("aggregate and student without noise, then with Laplace noise of scale .05 on every teacher's score");
    study.note("that noise is no privacy: epsilon 40 for every scored document");
    Ok(())
}
