use super::super::tests::{results, study};
use super::{Drawing, Drawn, FigureSpec, Kind};
use crate::expect::Criteria;
use crate::expect::select::Selector;
use crate::plot::Figure;
use foltr_experiment::rows::Row;
use foltr_experiment::study::{Asked, Names};

/// The value is the users' and the round's: 10 for perfect ones, 20, 30; interactions count .5.
fn value(users: &str, interactions: u32, seed: u64, round: usize) -> f64 {
    let users = match users {
        "perfect" => 10.0,
        "navigational" => 20.0,
        _ => 30.0,
    };
    users + 0.5 * f64::from(interactions) + round as f64 + (seed as f64 - 2.0)
}

fn drawn(figure: &str) -> Drawn {
    let study = study(&format!("[[figure]]\nmetric = 'test-ndcg@10'\n{figure}\n"), &Asked::default());
    let criteria = Criteria::read(&study).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let results = results(&study, &value);
    criteria.draw(&study, &results).remove(0).1
}

#[test]
fn a_curve_is_the_smoothed_mean_over_runs() {
    let figure =
        "kind = 'curves'\nlines = 'users.preset'\ncolumns = 'clients.interactions'\nx = 'interactions'\nsmooth = 4";
    let Drawn::Figure(Figure::Curves(figure)) = drawn(figure) else { panic!("curves") };
    assert_eq!(figure.columns, ["interactions per client = 2", "interactions per client = 4"]);
    assert_eq!(figure.methods, ["perfect users", "navigational users", "informational users"]);
    let points = &figure.rows[0].panels[1].curves[2].points;
    // Rounds 1 to 4 of 5 clients with 4 interactions: 30 + 2 + 2.5 at 80 interactions.
    assert_eq!((points.len(), points[0].x, points[0].mean), (7, 80.0, 34.5));
    assert!(points[0].low < 34.0 && points[0].high > 35.0, "{:?}", points[0]);
    assert_eq!(figure.y_label, "nDCG@10 on test queries");
}

#[test]
fn curves_lie_over_axes_of_numbers_and_beside_level_lines() {
    let figure = "kind = 'curves'
            lines = 'users.preset'
            where = { 'users.preset' = 'perfect' }
            x = 'clients.interactions'
            references = { metric = 'test-ndcg@10', where = { 'users.preset' = 'informational' } }";
    let Drawn::Figure(Figure::Curves(figure)) = drawn(figure) else { panic!("curves") };
    let panel = &figure.rows[0].panels[0];
    let points: Vec<(f64, f64)> = panel.curves[0].points.iter().map(|point| (point.x, point.mean)).collect();
    assert_eq!(points, [(2.0, 21.0), (4.0, 22.0)]);
    assert_eq!(figure.methods, ["perfect users", "informational users"]);
    // The mean of both numbers of interactions.
    assert_eq!((panel.references[0].method, panel.references[0].value), (1, 41.5));
}

#[test]
fn bars_and_heat_maps_have_their_means_and_differences() {
    let bars = "kind = 'bars'\nlines = 'clients.interactions'\ncolumns = 'users.preset'\nnames = { '2' = 'two' }";
    let Drawn::Figure(Figure::Bars(figure)) = drawn(bars) else { panic!("bars") };
    assert_eq!(figure.methods, ["two", "interactions per client = 4"]);
    let values: Vec<f64> = figure.groups.iter().flat_map(|group| &group.bars).map(|bar| bar.value).collect();
    assert_eq!(values, [21.0, 22.0, 31.0, 32.0, 41.0, 42.0]);
    let map = "kind = 'heat-map'
            rows = 'users.preset'
            columns = 'clients.interactions'
            relative_to = { 'users.preset' = 'navigational' }";
    let Drawn::Figure(Figure::HeatMap(figure)) = drawn(map) else { panic!("a heat map") };
    let cells: Vec<f64> = figure.cells.concat();
    assert_eq!(cells, [-10.0, -10.0, 0.0, 0.0, 10.0, 10.0]);
    let worst = "kind = 'table'\nrows = 'clients.interactions'\nworst_over = 'users.preset'";
    let Drawn::Table(table) = drawn(worst) else { panic!("a table") };
    let text = table.render();
    assert!(text.contains("21.0000") && text.contains("(perfect)") && !text.contains("41.0000"), "{text}");
}

/// Mistake: a table of shares of clean, of which a ranker after ten rounds has most.
#[test]
fn a_table_shows_shares_of_the_gain_and_names_the_worst() {
    let gain = "gain = { from = { 'users.preset' = 'perfect' }, to = { 'users.preset' = 'informational' } }";
    // 10 perfect, 20 navigational, 30 informational, and what runs have in common: half of the gain, in every run.
    let table = |more: &str| match drawn(&format!("kind = 'table'\nrows = 'clients.interactions'\n{gain}\n{more}")) {
        Drawn::Table(table) => table.render(),
        Drawn::Figure(_) => panic!("a table"),
    };
    let text = table("where = { 'users.preset' = 'navigational' }");
    assert!(text.contains("50.0 [50.0, 50.0]") && text.contains("nDCG@10 on test queries, % of the gain"), "{text}");
    let two = "where = { 'users.preset' = ['navigational', 'informational'] }\nworst_over = 'users.preset'";
    let text = table(&format!("{two}\nnames = {{ navigational = 'in between' }}"));
    assert!(text.contains("50.0 [50.0, 50.0] (in between)"), "{text}");
    assert!(!text.contains("100.0"), "{text}");
    let bars = format!("kind = 'bars'\nlines = 'users.preset'\n{gain}");
    let Drawn::Figure(Figure::Bars(figure)) = drawn(&bars) else { panic!("bars") };
    let values: Vec<f64> = figure.groups[0].bars.iter().map(|bar| bar.value).collect();
    assert_eq!(values, [0.0, 50.0, 100.0]);
}

#[test]
fn a_gain_without_a_gap_is_no_number_and_not_drawn_as_a_curve() {
    let gain = "gain = { from = { 'users.preset' = 'informational' }, to = { 'users.preset' = 'perfect' } }";
    let Drawn::Table(table) = drawn(&format!("kind = 'table'\nrows = 'users.preset'\n{gain}")) else {
        panic!("a table")
    };
    let text = table.render();
    assert!(text.contains("NaN") && !text.contains("50.0"), "{text}");
    for (more, message) in [
        ("kind = 'curves'", "requires a table, heat map or bars"),
        ("kind = 'table'\nrelative_to = { 'users.preset' = 'perfect' }", "remove `relative_to`"),
        ("kind = 'table'\nwhere = { 'users.prest' = 'perfect' }", "unknown axis"),
    ] {
        let study = study(&format!("[[figure]]\nmetric = 'test-ndcg@10'\n{more}\n{gain}\n"), &Asked::default());
        let problems = Criteria::read(&study).expect_err("refused");
        assert!(problems.len() == 1 && problems[0].to_string().contains(message), "{problems:?}");
    }
}

#[test]
fn clients_are_distributed_as_by_hand() {
    let study = study("", &Asked::default());
    let results = results(&study, &value);
    let [metric, lines] = ["own-test-ndcg@10", "users.preset"].map(|name| Names(vec![name.into()]));
    let spec = FigureSpec { kind: Kind::Clients, metric, lines, ..FigureSpec::default() };
    let selector = Selector::of(&results, None);
    let Drawn::Figure(Figure::Curves(figure)) = Drawing::of(&spec, &[], &selector).draw() else { panic!("curves") };
    // Two clients of six runs: 2 x 20, 4 x 21, 4 x 22 and 2 x 23 for perfect users, 20 more for informational ones.
    for (method, more) in [(0, 0.0), (2, 20.0)] {
        let points = &figure.rows[0].panels[0].curves[method].points;
        assert_eq!(points.len(), 101);
        for (step, x) in
            [(0, 20.0), (13, 20.0), (14, 21.0), (49, 21.0), (50, 22.0), (86, 22.0), (87, 23.0), (100, 23.0)]
        {
            assert_eq!((points[step].x, points[step].mean), (x + more, step as f64 / 100.0), "{step}");
        }
    }
}

#[test]
fn round_0_is_drawn_on_a_logarithmic_axis_and_enters_no_mean() {
    let text =
        "[[figure]]\nmetric = 'test-ndcg@10'\nkind = 'curves'\nlines = 'users.preset'\nlog_x = true\nsmooth = 4\n";
    let study = study(text, &Asked::default());
    let mut results = results(&study, &value);
    let metric = "test-ndcg@10".parse().expect("a metric");
    for run in &mut results.runs {
        let first = Row { round: 0, metric, value: 5.0 };
        run.rows = [vec![first], run.rows.to_vec().expect("rows")].concat().into();
    }
    let drawn = Criteria::read(&study).expect("sound").draw(&study, &results).remove(0).1;
    let Drawn::Figure(Figure::Curves(figure)) = drawn else { panic!("curves") };
    let points: Vec<(f64, f64)> = figure.rows[0].panels[0].curves[0].points.iter().map(|it| (it.x, it.mean)).collect();
    // Both numbers of interactions together: 10 + 1.5, and 2.5 as the mean of rounds 1 to 4.
    assert_eq!(points[..2], [(0.0, 5.0), (4.0, 14.0)]);
    let svg = Figure::Curves(figure).svg();
    let ticks = svg.split("</text>").filter_map(|text| text.rsplit('>').next()).collect::<Vec<_>>();
    assert!(ticks.contains(&"0") && svg.contains("data-x-start=\"0.1\""), "{ticks:?}");
}

#[test]
fn a_figure_says_how_it_is_set_and_nothing_that_it_lacks() {
    let more =
        "kind = 'curves'\nwidth = '8.5cm'\nfont_size = 9\nshow_title = false\nx_label = 'time'\ny_label = 'quality'";
    let study_of =
        |more: &str| study(&format!("[[figure]]\nmetric = 'test-ndcg@10'\ntitle = 'T'\n{more}\n"), &Asked::default());
    let of_figure = study_of(more);
    let results = results(&of_figure, &value);
    let (_, drawn, format) = Criteria::read(&of_figure).expect("sound").draw(&of_figure, &results).remove(0);
    let Drawn::Figure(figure) = drawn else { panic!("a figure") };
    let svg = figure.formatted(&format);
    assert!(svg.contains("width=\"240.945pt\"") && svg.contains(">time</text>") && svg.contains(">quality</text>"));
    assert!(!svg.contains(">T</text>"));
    for (more, message) in [
        ("kind = 'table'\nwidth = '8cm'", "a table has none"),
        ("kind = 'heat-map'\ny_label = 'a'", "requires curves or bars"),
        ("kind = 'bars'\nx_label = 'a'", "requires curves"),
        ("kind = 'bars'\nwidth = '8'", "is no length; expected a positive number with cm, mm, in or pt"),
        ("kind = 'bars'\nfont_size = 0.0", "must be a positive number of points"),
    ] {
        let problems = Criteria::read(&study_of(more)).expect_err("refused");
        assert!(problems.iter().any(|problem| problem.to_string().contains(message)), "{more}: {problems:?}");
    }
}
