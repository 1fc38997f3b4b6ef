//! The page of `foltr report`: complete, harmless, self-contained, and at work in a real browser.

use crate::fabricated::{DATA, HOSTILE, METHODS, USERS, report, run, setting};
use foltr_experiment::grid::AnyExperiment;
use foltr_experiment::grid::Grid;
use foltr_experiment::rows::Row;
use foltr_report::report::{Choices, Page, Report};
use foltr_report::statistics::Estimate;
use foltr_test::browser::{Scheme, browser, judge};

fn html(report: &Report, choices: &Choices) -> anyhow::Result<String> {
    Ok(Page::of(report, choices)?.html)
}

fn page() -> String {
    html(&report(40), &Choices::default()).expect("a page")
}

/// What stands between two marks, each time.
fn between<'a>(text: &'a str, open: &'a str, close: &'a str) -> Vec<&'a str> {
    text.split(open).skip(1).filter_map(|rest| rest.split(close).next()).collect()
}

#[test]
fn a_page_needs_nothing_but_itself() {
    let page = page();
    for address in ["http:", "https:", "//cdn", "src=", "@import", "url(", "<link"] {
        assert!(!page.contains(address), "{address} in the page");
    }
    let links = between(&page, "href=\"", "\"");
    assert!(!links.is_empty());
    for link in links {
        let target = link.strip_prefix('#').unwrap_or_else(|| panic!("{link} leads away"));
        assert!(page.contains(&format!("id=\"{target}\"")), "{link} leads nowhere");
    }
}

#[test]
fn every_text_of_a_file_is_harmless() {
    let page = page();
    assert!(!page.contains(HOSTILE) && !page.contains("<script>window"), "a label is not escaped");
    assert!(page.contains("&#60;script&#62;window.hostile"), "the label is gone");
    // Two scripts: the numbers and the page's own.
    assert_eq!(page.matches("</script").count(), 2);
    assert_eq!(page.matches("</title").count(), page.matches("<title>").count());
}

#[test]
fn every_setting_has_its_mean_interval_and_number_of_runs() {
    let page = page();
    let rows = between(&page, "<tbody>", "</tbody>")[0].matches("<tr").count();
    assert_eq!(rows, DATA.len() * USERS.len() * METHODS.len());
    for label in DATA.iter().chain(&USERS).chain(&METHODS[..3]) {
        assert!(page.contains(&format!("data-value=\"{label}\"")), "{label}");
    }
    let results = report(40).results;
    for setting in 0..rows {
        let finals = results.final_values(setting, "test-ndcg@10".parse().expect("a metric"));
        let estimate = Estimate::of(&finals).expect("five runs");
        let cell = format!("{:.4}</span><span class=\"half\"> ± {:.4}</span>", estimate.mean, estimate.half_width());
        assert!(page.contains(&cell), "{cell}");
    }
    assert!(page.contains("All 120 runs are finished."));
}

#[test]
fn marks_compare_with_the_baseline_only_what_is_otherwise_equal() {
    let page = page();
    let rows = between(between(&page, "<tbody>", "</tbody>")[0], "<tr", "</tr>");
    for row in rows {
        let is_baseline = row.contains(&format!("data-value=\"{}\"", METHODS[0]));
        assert_eq!(row.contains("baseline</span>"), is_baseline, "{row}");
        // Methods are .05 apart and shifted alike by a seed: every difference is sure.
        assert_eq!(row.contains('▼'), !is_baseline, "{row}");
        assert!(!row.contains(['▲', '△', '▽']), "{row}");
    }
    let last = Choices { baseline: Some(("method".into(), METHODS[2].into())), ..Choices::default() };
    let other = html(&report(2), &last).expect("a page");
    let rows = between(between(&other, "<tbody>", "</tbody>")[0], "<tr", "</tr>");
    assert_eq!(rows.iter().filter(|row| row.contains('▲')).count(), 2 * DATA.len() * USERS.len());
}

#[test]
fn runs_that_do_not_pair_up_get_the_other_test() {
    let mut report = report(2);
    report.results.runs[5].seed = 77;
    let page = html(&report, &Choices::default()).expect("a page");
    for test in
        ["(Welch&#39;s t-test over runs, Bonferroni-corrected)", "(paired t-test over runs, Bonferroni-corrected)"]
    {
        assert!(page.contains(test), "{test}");
    }
}

#[test]
fn missing_runs_are_named() {
    let mut report = report(2);
    report.results.runs.remove(25);
    let page = html(&report, &Choices::default()).expect("a page");
    assert!(page.contains("119 of 120 runs are finished"));
    assert!(page.contains("navigational users, FPDGD + server momentum: 4 of 5 runs"), "which setting lacks a run");
}

#[test]
fn panels_follow_the_chosen_axes() {
    let n_panels = |choices: &Choices| html(&report(3), choices).expect("a page").matches("class=\"panel\"").count();
    // Two metrics, 3 kinds of users side by side, 2 data sets below each other.
    assert_eq!(n_panels(&Choices::default()), 2 * 3 * 2);
    let chosen = Choices { columns: Some("method".into()), rows: Some("data.folder".into()), ..Choices::default() };
    assert_eq!(n_panels(&chosen), 2 * 4 * 2);
}

#[test]
fn choices_that_do_not_exist_are_refused_with_those_that_do() {
    let refusal = |choices: &Choices| html(&report(1), choices).expect_err("refused").to_string();
    let axis = Choices { columns: Some("usres".into()), ..Choices::default() };
    assert_eq!(refusal(&axis), "there is no axis `usres` in these results (axes: data.folder, users.preset, method)");
    let label = Choices { baseline: Some(("users.preset".into(), "hasty".into())), ..Choices::default() };
    let message = "the axis `users.preset` has no label `hasty` (labels: perfect, navigational, informational)";
    assert_eq!(refusal(&label), message);
    let both = Some("method".to_owned());
    let twice = Choices { columns: both.clone(), rows: both, ..Choices::default() };
    assert_eq!(refusal(&twice), "the axis `method` cannot be both the columns and the rows");
}

#[test]
fn an_offline_baseline_is_a_level_in_every_panel() {
    let mut report = report(9);
    let settings = &mut report.results.grid.settings;
    let mut experiment = settings[0].experiment.clone();
    let AnyExperiment::Training(training) = &mut experiment else { panic!("training") };
    training.users = None;
    settings.push(setting(&experiment, &[("data.folder", DATA[0]), ("method", "Least squares")]));
    let row = |metric: &str| Row { round: 0, metric: metric.parse().expect("a metric"), value: 0.6 };
    report.results.runs.push(run(24, 1, vec![row("test-ndcg@10"), row("online-ndcg@10")]));
    let page = html(&report, &Choices::default()).expect("a page");
    // In the three panels of its data set and two metrics, but not in those of the other data set.
    let level = "<g class=\"series\" data-series=\"4\" data-name=\"Least squares\"><title>Least squares</title><path \
                 class=\"line reference\"";
    assert_eq!(page.matches(level).count(), 3 * 2);
    assert!(page.contains(">–</td>"), "it has no users");
}

#[test]
fn one_setting_and_nothing_at_all_are_still_pages() {
    let mut single = report(5);
    let experiment = single.results.grid.settings[0].experiment.clone();
    single.results.grid = Grid::of_settings(vec![setting(&experiment, &[])]);
    single.results.runs.truncate(5);
    let page = html(&single, &Choices::default()).expect("a page");
    assert_eq!(page.matches("class=\"panel\"").count(), 2);
    assert!(page.contains("data-value=\"pdgd") && !page.contains("baseline</span>"));
    single.results.runs.truncate(1);
    let page = html(&single, &Choices::default()).expect("a page");
    assert!(
        page.contains("Single runs: there is neither an interval nor a test over runs.")
            && !page.contains("t-test over runs,")
    );
    single.results.runs.clear();
    let page = html(&single, &Choices::default()).expect("a page");
    assert!(page.contains("0 of 120 runs are finished") && !page.contains("class=\"panel\""));
    single.results.grid = Grid::of_settings(Vec::new());
    assert!(html(&single, &Choices::default()).is_ok());
}

#[test]
fn a_browser_shows_all_of_it_wide_and_narrow_light_and_dark() {
    let Some(browser) = browser() else { return };
    let page = page();
    for (width, scheme) in [(1400, Scheme::Light), (800, Scheme::Light), (1400, Scheme::Dark)] {
        let (faults, _) = judge(&browser, &page, width, scheme);
        assert!(faults.is_empty(), "{width} pixels, {scheme:?}:\n{}", faults.join("\n"));
    }
}
