use foltr_experiment::manifest::Manifest;
use foltr_experiment::results::{Results, Run};
use foltr_experiment::rows::{ClientValue, Row};
use foltr_experiment::study::{Asked, Study, StudyFile};
use foltr_test::ExperimentFile;

use super::Verdict::{Agrees, Differs, Explained, Fails, Holds, NotComparable, NotJudged};
use super::{Criteria, Judgement, Verdict};

/// Two numbers of interactions under three kinds of users.
fn file() -> String {
    let file = ExperimentFile::fpdgd().set("seeds", "[1, 2, 3]").set("data.queries", "30");
    let file = file.set("clients.n_clients", "5").set("clients.interactions", "[2, 4]").set("federation.rounds", "10");
    file.set("users.preset", "['perfect', 'navigational', 'informational']").to_string()
}

pub(super) fn study(more: &str, asked: &Asked<'_>) -> Study {
    let text = format!("{}{more}", file());
    let file = StudyFile::from_toml(&text).unwrap_or_else(|problems| panic!("{problems:#?}"));
    file.study(asked).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// A value by users, interactions, seed and round.
type Value = dyn Fn(&str, u32, u64, usize) -> f64;

/// Ten rounds of every run.
pub(super) fn results(study: &Study, value: &Value) -> Results {
    let mut runs = Vec::new();
    for (setting, about) in study.grid.settings.iter().enumerate() {
        let users = about.label("users.preset").unwrap_or("perfect").to_owned();
        let interactions = about.label("clients.interactions").and_then(|n| n.parse().ok()).unwrap_or(2);
        for &seed in about.experiment.seeds() {
            let metric = "test-ndcg@10".parse().expect("a metric");
            let row = |round| Row { round, metric, value: value(&users, interactions, seed, round) };
            runs.push(run(setting, seed, (1..=10).map(row).collect()));
        }
    }
    Results { grid: study.grid.clone(), runs, about: Manifest::default(), root: std::path::PathBuf::new() }
}

fn run(setting: usize, seed: u64, rows: Vec<Row>) -> Run {
    let value = rows.last().map_or(f64::NAN, |row| row.value);
    let metric = "own-test-ndcg@10".parse().expect("a metric");
    let clients = (0..2).map(|client| ClientValue { client, group: 0, metric, value }).collect();
    let key = String::new();
    Run { setting, fold: 1, seed, key, rows: rows.into(), n_interactions: 0, training_seconds: 0.0, clients }
}

fn judge_study(more: &str, asked: &Asked<'_>, value: &Value) -> Vec<Judgement> {
    let study = study(more, asked);
    let criteria = Criteria::read(&study).unwrap_or_else(|problems| panic!("{problems:#?}"));
    criteria.judge(&study, &results(&study, value))
}

fn judge_with(expect: &str, asked: &Asked<'_>, value: &Value) -> Vec<Judgement> {
    judge_study(&format!("[[expect]]\nsays = 'so'\nmetric = 'test-ndcg@10'\n{expect}\n"), asked, value)
}

pub(super) fn judge(expect: &str, value: &Value) -> Vec<Judgement> {
    judge_with(expect, &Asked::default(), value)
}

pub(super) fn verdicts(expect: &str, value: &Value) -> Vec<Verdict> {
    judge(expect, value).iter().map(|one| one.verdict).collect()
}

/// Navigational users .1 below perfect ones, informational ones .3 below; more interactions .01 better; seeds .001 apart.
fn usual(users: &str, interactions: u32, seed: u64, _: usize) -> f64 {
    let users = match users {
        "perfect" => 0.8,
        "navigational" => 0.7,
        _ => 0.5,
    };
    users + 0.005 * f64::from(interactions - 2) + 0.001 * (seed as f64 - 2.0)
}

fn nan(_: &str, _: u32, _: u64, _: usize) -> f64 {
    f64::NAN
}

#[test]
fn bounds_of_a_difference() {
    let both = "for_each = { 'clients.interactions' = 'all' }
            left = { 'users.preset' = 'perfect' }
            right = { 'users.preset' = 'informational' }\n";
    assert_eq!(verdicts(&format!("{both}at_least = 0.29"), &usual), [Holds, Holds]);
    assert_eq!(verdicts(&format!("{both}at_least = 0.31"), &usual), [Fails, Fails]);
    assert_eq!(verdicts(&format!("{both}at_most = 0.31"), &usual), [Holds, Holds]);
    assert_eq!(verdicts(&format!("{both}at_least = 0.1\nat_most = 0.2"), &usual), [Fails, Fails]);
    assert_eq!(verdicts(&format!("{both}at_least = -9.0\nat_most = 9.0"), &nan), [Fails, Fails]);
    let judged = judge(&format!("{both}at_least = 0.0"), &usual);
    assert!((judged[0].value.expect("a number") - 0.3).abs() < 1e-12, "{judged:?}");
    assert_eq!((judged[0].n, judged[0].case_name().as_str()), (3, "clients.interactions = 2"));
}

#[test]
fn one_side_is_compared_with_the_case_and_none_with_nothing() {
    // Navigational - case, for each kind of users: -.1, 0, .2.
    let left = "for_each = { 'users.preset' = 'all' }\nleft = { 'users.preset' = 'navigational' }\nat_least = 0.0";
    assert_eq!(verdicts(left, &usual), [Fails, Holds, Holds]);
    let right = left.replace("left", "right");
    assert_eq!(verdicts(&right, &usual), [Holds, Holds, Fails]);
    // Means of both numbers of interactions: .805, .705, .505.
    let values: Vec<f64> = judge("for_each = { 'users.preset' = 'all' }\nat_least = 0.7", &usual)
        .iter()
        .filter_map(|it| it.value)
        .collect();
    assert!(values.iter().zip([0.805, 0.705, 0.505]).all(|(a, b)| (a - b).abs() < 1e-12), "{values:?}");
}

#[test]
fn a_paired_test_is_corrected_for_the_number_of_cases() {
    // Differences of seeds: .01 + {-.009, 0, .009} have t = .01 / (.009 / sqrt(3)) = 1.92, p = .19; of {-.001, 0, .001}
    // t = 17.3, p = .0033, which is below .05 / 3.
    let scattered = |deviation: f64| {
        move |users: &str, interactions: u32, seed: u64, _: usize| {
            let more = if interactions == 4 { 0.01 + deviation * (seed as f64 - 2.0) } else { 0.0 };
            more + if users == "perfect" { 0.8 } else { 0.5 }
        }
    };
    let expect = "for_each = { 'users.preset' = 'all' }
            left = { 'clients.interactions' = 4 }
            right = { 'clients.interactions' = 2 }
            at_least = 0.0
            test = 'paired'";
    assert_eq!(verdicts(expect, &scattered(0.009)), [Fails; 3]);
    assert_eq!(verdicts(expect, &scattered(0.001)), [Holds; 3]);
    assert_eq!(verdicts(expect, &nan), [Fails; 3]);
    // A deviation of .0033 has t = 5.2 and p = .034.
    let weak = scattered(0.0033);
    assert_eq!(verdicts(expect, &weak), [Fails; 3], "p = .034 is above .05 / 3");
    let alone = expect.replace("for_each = { 'users.preset' = 'all' }", "where = { 'users.preset' = 'perfect' }");
    assert_eq!(verdicts(&alone, &weak), [Holds], "and below .05");
}

#[test]
fn equivalence_is_shown_by_two_one_sided_tests() {
    // Differences .009, .010, .011: t = (.02 - .01) / (.001 / sqrt(3)) = 17.3 for a bound of .02, p = .0017.
    let value = |_: &str, interactions: u32, seed: u64, _: usize| {
        if interactions == 4 { 0.51 + 0.001 * (seed as f64 - 2.0) } else { 0.5 }
    };
    let expect = |bound: f64| {
        format!(
            "where = {{ 'users.preset' = 'perfect' }}
            left = {{ 'clients.interactions' = 4 }}
            right = {{ 'clients.interactions' = 2 }}
            equivalent = {bound}"
        )
    };
    assert_eq!(verdicts(&expect(0.02), &value), [Holds]);
    assert_eq!(verdicts(&expect(0.011), &value), [Fails], "not significantly inside: t = 1.7");
    assert_eq!(verdicts(&expect(0.005), &value), [Fails]);
    assert_eq!(verdicts(&expect(1.0), &nan), [Fails]);
    let asked = Asked { overrides: &["seeds=[1]".to_owned()], ..Asked::default() };
    assert_eq!(judge_with(&expect(1.0), &asked, &value)[0].verdict, NotJudged, "one pair shows nothing");
}

#[test]
fn orders_along_an_axis() {
    let falls = |more: &str| format!("falls = {{ along = 'users.preset'{more} }}");
    assert_eq!(verdicts(&falls(""), &usual), [Holds]);
    assert_eq!(verdicts(&falls("").replace("falls", "rises"), &usual), [Fails]);
    assert_eq!(verdicts(&falls(""), &nan), [Fails]);
    assert_eq!(verdicts(&falls("").replace("falls", "rises"), &nan), [Fails]);
    let grouped = ", order = ['perfect', ['informational', 'navigational']]";
    assert_eq!(verdicts(&falls(grouped), &usual), [Holds]);
    assert_eq!(verdicts(&falls(", order = [['perfect', 'informational'], 'navigational']"), &usual), [Fails]);
    // A step of -.1 the wrong way is within a slack of .15, not of .05.
    let wrong = ", order = ['navigational', 'perfect'], slack = ";
    assert_eq!(verdicts(&falls(&format!("{wrong}0.15")), &usual), [Holds]);
    assert_eq!(verdicts(&falls(&format!("{wrong}0.05")), &usual), [Fails]);
    let ends = ", order = ['navigational', 'perfect', 'informational'], ends = true";
    assert_eq!(verdicts(&falls(ends), &usual), [Holds]);
    assert_eq!(verdicts(&falls(&ends.replace("true", "false")), &usual), [Fails]);
    let judged = judge(&falls(""), &usual);
    assert!((judged[0].value.expect("the smallest step") - 0.1).abs() < 1e-12, "{judged:?}");
    // Equal values neither rise nor fall.
    assert_eq!(verdicts(&falls(""), &|_: &str, _: u32, _: u64, _: usize| 0.5), [Fails]);
}

#[test]
fn shares_of_a_gap() {
    // From .505 to .805, navigational users are at .705: two thirds.
    let gap = |bounds: &str| {
        format!(
            "where = {{ 'users.preset' = 'navigational' }}
            gap_closed = {{ from = {{ 'users.preset' = 'informational' }}, to = {{ 'users.preset' = 'perfect' }}, \
             {bounds} }}"
        )
    };
    assert_eq!(verdicts(&gap("at_least = 0.66"), &usual), [Holds]);
    assert_eq!(verdicts(&gap("at_least = 0.67"), &usual), [Fails]);
    assert_eq!(verdicts(&gap("at_most = 0.67"), &usual), [Holds]);
    assert_eq!(verdicts(&gap("at_most = 0.5"), &usual), [Fails]);
    assert_eq!(verdicts(&gap("at_least = -9.0"), &nan), [Fails]);
    let judged = judge(&gap("at_least = 0.66"), &usual);
    let (low, high) = judged[0].interval.expect("three runs");
    assert!((judged[0].value.expect("a share") - 2.0 / 3.0).abs() < 1e-12 && high - low < 1e-6, "{judged:?}");
    // No gap: nothing is closed.
    assert_eq!(verdicts(&gap("at_least = 0.5"), &|_: &str, _: u32, _: u64, _: usize| 0.5), [Fails]);
}

/// Mistake: a share without an interval, so that nobody sees that it is chance.
#[test]
fn a_share_of_a_gap_has_the_interval_of_paired_runs() {
    // Closed by .15, .2 and .25 of gaps of .3, whatever seeds have in common: t(2) = 4.30265, deviation .05.
    let value = |users: &str, _: u32, seed: u64, _: usize| {
        let seed = seed as f64 - 2.0;
        let in_common = 0.1 * seed;
        in_common
            + match users {
                "perfect" => 0.8,
                "navigational" => 0.7 + 0.05 * seed,
                _ => 0.5,
            }
    };
    let gap = "where = { 'users.preset' = 'navigational' }
            gap_closed = { from = { 'users.preset' = 'informational' }, to = { 'users.preset' = 'perfect' }, at_least = 0.5 }";
    let judged = judge(gap, &value);
    let half = 4.302_652_7 * 0.05 / 3.0_f64.sqrt() / 0.3;
    let (low, high) = judged[0].interval.expect("three runs");
    assert!((low - (2.0 / 3.0 - half)).abs() < 1e-6 && (high - (2.0 / 3.0 + half)).abs() < 1e-6, "{low}, {high}");
    let text = super::text(&judged);
    assert!(text.contains("share 0.6667 [0.2526, 1.0807]"), "{text}");
}

#[test]
fn shares_of_clients_that_lose() {
    let below = |left: &str, right: &str, bound: f64| {
        format!(
            "left = {{ metric = 'own-test-ndcg@10', 'users.preset' = '{left}' }}
            right = {{ metric = 'own-test-ndcg@10', 'users.preset' = '{right}' }}
            clients_below = {bound:?}"
        )
    };
    assert_eq!(verdicts(&below("perfect", "informational", 0.0), &usual), [Holds]);
    assert_eq!(verdicts(&below("informational", "perfect", 0.9), &usual), [Fails]);
    assert_eq!(verdicts(&below("perfect", "informational", 0.9), &nan), [Fails]);
}

#[test]
fn spreads_along_an_axis() {
    let spread = |bound: &str| format!("spread = {{ along = 'users.preset', {bound} }}");
    assert_eq!(verdicts(&spread("at_most = 0.31"), &usual), [Holds]);
    assert_eq!(verdicts(&spread("at_most = 0.29"), &usual), [Fails]);
    assert_eq!(verdicts(&spread("at_least = 0.29"), &usual), [Holds]);
    assert_eq!(verdicts(&spread("at_least = 0.31"), &usual), [Fails]);
    assert_eq!(verdicts(&spread("at_most = 9.0"), &nan), [Fails]);
}

#[test]
fn printed_numbers_cell_by_cell() {
    let printed = "printed = { rows = 'users.preset', columns = 'clients.interactions', order = [2, 4], values = { \
                   perfect = [0.80, 0.85], informational = [0.5, nan] } }\n";
    // Ours: .80, .81 and .50.
    assert_eq!(verdicts(&format!("{printed}within = 0.005"), &usual), [Agrees, Differs, Agrees]);
    assert_eq!(verdicts(&format!("{printed}within_percent = 5.0"), &usual), [Agrees, Agrees, Agrees]);
    assert_eq!(verdicts(&format!("{printed}within = 9.0"), &nan), [Differs, Differs, Differs]);
    let one_list = "where = { 'users.preset' = 'perfect' }
            printed = { columns = 'clients.interactions', order = [4, 2], values = [0.81, 0.8] }
            within = 0.001";
    assert_eq!(verdicts(one_list, &usual), [Agrees, Agrees]);
    let cells: Vec<String> = judge(one_list, &usual).iter().map(Judgement::case_name).collect();
    assert_eq!(cells, ["clients.interactions = 4", "clients.interactions = 2"]);
}

#[test]
fn parts_of_a_course() {
    // The value is the round: 1 to 10.
    let value = |_: &str, _: u32, _: u64, round: usize| round as f64;
    let number = |at: &str| judge(&format!("at = {at}\nat_least = 0.0"), &value)[0].value.expect("a number");
    assert_eq!(number("'final'"), 10.0);
    assert_eq!(number("'mean'"), 5.5);
    assert_eq!(number("'last-fifth'"), 9.5);
    assert_eq!(number("'last-tenth'"), 10.0);
    assert_eq!(number("3"), 3.0);
    assert_eq!(number("[0.0, 0.5]"), 3.0);
    assert_eq!(number("{ rounds = [2, 5] }"), 3.5);
    assert_eq!(number("[0.0, 0.01]"), 1.0, "at least one value");
    let discounted: f64 = (1..=10).map(|round| 0.9995_f64.powi(round - 1) * f64::from(round)).sum();
    assert!((number("'discounted-sum'") - discounted).abs() < 0.05, "{}", number("'discounted-sum'"));
    // Rows of online nDCG that are means over five rounds have no discounted sum.
    let row = |round: usize| Row { round, metric: "online-ndcg@10".parse().expect("a metric"), value: 0.5 };
    let sum = |rounds: &[usize]| {
        let run = run(0, 1, rounds.iter().map(|&round| row(round)).collect());
        super::At::DiscountedSum.of(&run, row(0).metric)
    };
    assert_eq!((sum(&[5, 10]), sum(&[10])), (None, None));
    assert!(sum(&[1, 2, 3]).is_some() && sum(&[3, 5, 6]).is_some(), "nobody came to some rounds");
    // The last value above the first one.
    let learns = "left = { at = 'final' }\nright = { at = 1 }\nat_least = 9.0";
    assert_eq!(verdicts(learns, &value), [Holds]);
    assert_eq!(verdicts(&learns.replace("9.0", "9.1"), &value), [Fails]);
}

#[test]
fn failures_have_reasons_and_small_budgets_may_only_report() {
    let fails = "at_least = 9.0\n";
    assert_eq!(verdicts(&format!("{fails}because = {{ any = 'chance' }}"), &usual), [Explained]);
    assert_eq!(verdicts(&format!("{fails}because = {{ quick = 'too short' }}"), &usual), [Fails]);
    let quick = Asked { is_quick: true, ..Asked::default() };
    let judged = judge_with(&format!("{fails}because = {{ quick = 'too short' }}"), &quick, &usual);
    assert_eq!((judged[0].verdict, judged[0].because.as_deref()), (Explained, Some("too short")));
    let reported = judge_with(&format!("{fails}quick = 'report'"), &quick, &usual);
    assert_eq!((reported[0].verdict, reported[0].value.is_some()), (NotJudged, true));
    assert!(judge_with(&format!("{fails}quick = 'skip'"), &quick, &usual).is_empty());
    // What holds needs no reason.
    assert_eq!(verdicts("at_least = 0.0\nbecause = { any = 'chance' }", &usual), [Holds]);
}

#[test]
fn other_data_than_the_papers_is_not_compared() {
    let entry = "[[entry]]
            id = 'one'
            paper = 'foltr'
            item = 'x'
            collection = 'synthetic-mslr'
            [[expect]]
            says = 'so'
            metric = 'test-ndcg@10'\n";
    let asked = Asked { entry: Some("one"), ..Asked::default() };
    let verdict = |expect: &str| {
        let judged = judge_study(&format!("{entry}{expect}"), &asked, &usual);
        assert_eq!(judged[0].data.as_deref(), Some("synthetic MSLR"));
        judged[0].verdict
    };
    assert_eq!(verdict("printed = { values = [0.1] }\nwithin = 0.1\n"), NotComparable);
    assert_eq!(verdict("printed = { values = [0.1] }\nwithin = 0.1\ndata = 'any'\n"), Differs);
    let marks = "left = { 'clients.interactions' = 4 }\nright = { 'clients.interactions' = 2 }\ntest = 'paired'\n\
                 marks = { values = ['▼'] }\n";
    assert_eq!(verdict(marks), NotComparable);
    assert_eq!(verdict(&format!("{marks}data = 'any'\n")), Differs);
    assert_eq!(verdict("at_least = 9.0\ndata = 'real'\n"), NotJudged);
    assert_eq!(verdict("at_least = 9.0\n"), Fails);
    assert_eq!(verdict("at_least = 9.0\nbecause = { synthetic-mslr = 'generated' }\n"), Explained);
}

/// Mistake: ten rounds of four interactions exceed ten of two in a discounted sum, and the claim was said to hold.
#[test]
fn sums_over_runs_of_different_lengths_are_not_compared() {
    let by_interactions =
        "left = { 'clients.interactions' = 4 }\nright = { 'clients.interactions' = 2 }\nat_least = 0.0\n";
    let verdicts = |at: &str| {
        let judged =
            judge(&format!("at = '{at}'\nwhere = {{ 'users.preset' = 'perfect' }}\n{by_interactions}"), &usual);
        judged.iter().map(|one| one.verdict).collect::<Vec<_>>()
    };
    assert_eq!(verdicts("mean"), [Holds]);
    assert_eq!(verdicts("discounted-sum"), [NotJudged]);
    assert_eq!(verdicts("discounted-by-interaction"), [NotJudged]);
    let equal = "at = 'discounted-sum'\nwhere = { 'clients.interactions' = 4 }\n\
                 left = { 'users.preset' = 'perfect' }\nright = { 'users.preset' = 'informational' }\nat_least = 0.0\n";
    assert_eq!(judge(equal, &usual)[0].verdict, Holds);
}

#[test]
fn without_runs_nothing_is_judged() {
    let expect = "[[expect]]\nsays = 'so'\nmetric = 'online-maxrr'\nat_least = 0.0\n";
    let judged = judge_study(expect, &Asked::default(), &usual);
    assert_eq!((judged.len(), judged[0].verdict, judged[0].because.as_deref()), (1, NotJudged, Some("no runs")));
}

/// What is wrong with an expectation, with its line.
pub(super) fn problems(expect: &str) -> Vec<String> {
    let study = study(&format!("[[expect]]\nsays = \"so\"\n{expect}\n"), &Asked::default());
    let problems = Criteria::read(&study).err().unwrap_or_default();
    problems.iter().map(|problem| format!("{}: {problem}", problem.line.unwrap_or(0))).collect()
}

#[test]
fn wrong_expectations_are_refused_before_anything_runs() {
    let metric = "metric = 'test-ndcg@10'\n";
    let table = "printed = { columns = 'clients.interactions', order = [2, 4], values = [0.1] }\nwithin = 0.1";
    for (expect, line, message) in [
        (
            format!("{metric}where = {{ \"users.prest\" = \"perfect\" }}\nat_least = 0.0"),
            3,
            "`expect[0].where.users.prest` = \"perfect\": unknown axis; did you mean `users.preset`? Expected \
             one of: clients.interactions, users.preset, collection",
        ),
        (
            format!("{metric}left = {{ \"users.preset\" = \"perfekt\" }}\nat_least = 0.0"),
            3,
            "`expect[0].left.users.preset` = \"perfekt\": unknown label; did you mean `perfect`? Expected one of: \
             perfect, navigational, informational",
        ),
        (
            format!("{metric}at_least = 0.0\nequivalent = 0.1"),
            0,
            "`expect[0]`: exactly one predicate is allowed, not at_least and equivalent",
        ),
        (
            metric.into(),
            0,
            "`expect[0]`: a predicate is missing; expected one of at_least, at_most, equivalent, clients_below, rises, \
             falls, gap_closed, spread, printed, marks",
        ),
        (
            "metric = \"test-ndcg@5\"\nat_least = 0.0".into(),
            2,
            "`expect[0].metric` = \"test-ndcg@5\": no setting measures it: see metrics.offline and evaluate_on",
        ),
        ("at_least = 0.0".into(), 0, "`expect[0].metric`: missing; every expectation needs a metric"),
        (
            format!("{metric}at_most = 1.0\nbecause = {{ mq2009 = \"x\" }}"),
            4,
            "`expect[0].because.mq2009` = \"x\": unknown key; did you mean `mq2008`? Expected one of: ",
        ),
        (
            format!("{metric}{table}"),
            3,
            "`expect[0].printed.values` = [0.1]: 1 numbers for 2 columns; `order` names the columns",
        ),
        (
            format!("{metric}at = \"finally\"\nat_least = 0.0"),
            3,
            "`expect[0].at` = \"finally\": unknown value; expected one of \"final\"",
        ),
        (format!("{metric}at_leest = 0.0"), 3, "`expect[0].at_leest` = 0.0: unknown key; did you mean `at_least`?"),
    ] {
        let (problems, expected) = (problems(&expect), format!("{}: {message}", file().lines().count() + 1 + line));
        assert!(problems.iter().any(|problem| problem.starts_with(&expected)), "{problems:#?} instead of {expected}");
        assert!(problems.len() == 1 || expect.contains("leest"), "{problems:#?}");
    }
}
