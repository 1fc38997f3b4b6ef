//! Figures of many shapes: labels stay inside and apart, and nothing unsound reaches the SVG.

use super::*;

const NAMES: [&str; 12] = [
    "Centralised PDGD",
    "FPDGD",
    "FOLtR-ES, two-layer ranker, antithetic variates & B = 4",
    "RankingSVM",
    "FPDGD, epsilon = 1.2",
    "FPDGD, epsilon = 2.3",
    "FPDGD, epsilon = 4.5",
    "FPDGD, epsilon = 10",
    "MSE",
    "FedProx",
    "FedPer",
    "Data sharing",
];

fn methods(n_methods: usize) -> Vec<String> {
    NAMES[..n_methods].iter().map(|&name| name.to_owned()).collect()
}

/// A course that rises from `low` towards `high`, faster for the first methods.
fn curve(method: usize, n_points: usize, (low, high): (f64, f64)) -> Curve {
    let point = |step: usize| {
        let share = step as f64 / n_points.max(2) as f64;
        let risen = 1.0 - (-(6.0 - 0.4 * method as f64) * share).exp();
        let wave = 0.02 * (share * 40.0 + method as f64).sin();
        let mean = low + (high - low) * (risen * (1.0 - 0.06 * method as f64) + wave).clamp(0.0, 1.0);
        let half = 0.04 * (high - low);
        Point { x: (step + 1) as f64 * 4e5 / n_points as f64, mean, low: mean - half, high: mean + half }
    };
    Curve { method, points: (0..n_points).map(point).collect() }
}

fn grid(n_rows: usize, n_columns: usize, n_methods: usize, range: (f64, f64), n_points: usize) -> CurveFigure {
    let users = ["perfect users", "navigational users", "informational users"];
    let data = ["MQ2007", "MSLR-WEB10K", "Yahoo! Learning to Rank Challenge, set 1", "Istella-S"];
    let panel = || Panel {
        curves: (0..n_methods).filter(|&method| method != 3).map(|method| curve(method, n_points, range)).collect(),
        references: (3..n_methods.min(4))
            .map(|method| Reference { method, value: range.0 + 0.7 * (range.1 - range.0) })
            .collect(),
    };
    let row = |row: usize| PanelRow {
        title: if n_rows > 1 { data[row % 4].into() } else { String::new() },
        panels: (0..n_columns).map(|_| panel()).collect(),
    };
    CurveFigure {
        title: "Offline performance & <privacy>".into(),
        subtitle: "nDCG@10 on test queries, mean of 25 runs with 95 % confidence bands; horizontal: trained offline"
            .into(),
        x_label: "interactions of all clients together".into(),
        y_label: "nDCG@10 on test queries".into(),
        methods: methods(n_methods),
        columns: cycled(&users, n_columns),
        rows: (0..n_rows).map(row).collect(),
        ..CurveFigure::default()
    }
}

fn curve_figures() -> Vec<(&'static str, CurveFigure)> {
    let mut logarithmic = grid(2, 3, 7, (0.3, 0.5), 5000);
    logarithmic.x_scale = Scale::Logarithmic;
    logarithmic.y_sharing = Sharing::Row;
    for curve in logarithmic.rows[1].panels.iter_mut().flat_map(|panel| &mut panel.curves) {
        for point in &mut curve.points {
            (point.mean, point.low, point.high) = (point.mean + 0.3, point.low + 0.3, point.high + 0.3);
        }
    }
    let mut apart = grid(2, 2, 3, (-120.0, 35.0), 40);
    (apart.x_sharing, apart.y_sharing) = (Sharing::Panel, Sharing::Panel);
    let mut broken = grid(1, 2, 2, (0.4, 0.8), 30);
    for (idx, point) in broken.rows[0].panels[0].curves[0].points.iter_mut().enumerate() {
        match idx % 6 {
            1 => point.mean = f64::NAN,
            2 => point.high = f64::INFINITY,
            3 => point.x = f64::NAN,
            _ => {}
        }
    }
    broken.rows[0].panels[1].references.push(Reference { method: 1, value: f64::NAN });
    let mut empty = grid(2, 2, 2, (0.4, 0.8), 30);
    empty.rows.iter_mut().flat_map(|row| &mut row.panels).for_each(|panel| panel.curves.clear());
    let mut ragged = grid(2, 3, 4, (0.4, 0.8), 30);
    ragged.rows[1].panels.truncate(1);
    vec![
        ("1x1", grid(1, 1, 2, (0.4, 0.8), 200)),
        ("1x3", grid(1, 3, 4, (0.4, 0.8), 200)),
        ("2x3-log", logarithmic),
        ("4x3", grid(4, 3, 12, (0.7312, 0.7319), 200)),
        ("2x2-apart", apart),
        ("one-point", grid(1, 1, 3, (0.4, 0.8), 1)),
        ("broken", broken),
        ("empty", empty),
        ("ragged", ragged),
        ("nothing", CurveFigure::default()),
    ]
}

fn bars(n_groups: usize, n_methods: usize, (low, high): (f64, f64), digits: Option<usize>) -> BarFigure {
    let names = ["perfect", "navigational users", "informational", "poison", "position-based with eta = 1.5"];
    let bar = |group: usize, method: usize| {
        let value = low + (high - low) * ((group * 7 + method * 3) % 11) as f64 / 10.0;
        let half = 0.05 * (high - low);
        Bar { method, value, low: value - half, high: value + half }
    };
    let group = |group: usize| BarGroup {
        name: names[group % 5].into(),
        bars: (0..n_methods).map(|method| bar(group, method)).collect(),
    };
    BarFigure {
        title: "Online performance".into(),
        subtitle: "discounted sum of nDCG@10, mean of 5 runs with 95 % confidence intervals".into(),
        y_label: "discounted online nDCG@10".into(),
        methods: methods(n_methods),
        groups: (0..n_groups).map(group).collect(),
        digits,
    }
}

fn bar_figures() -> Vec<(&'static str, BarFigure)> {
    let mut broken = bars(2, 2, (0.2, 0.9), Some(2));
    broken.groups[0].bars[0].value = f64::NAN;
    broken.groups[1].bars[1].high = f64::INFINITY;
    vec![
        ("3x2", bars(3, 2, (0.2, 0.9), Some(3))),
        ("5x12", bars(5, 12, (270.0, 320.0), Some(1))),
        ("negative", bars(4, 4, (-0.35, 0.2), Some(3))),
        ("1x1", bars(1, 1, (54.0, 54.0), None)),
        ("broken", broken),
        ("nothing", BarFigure::default()),
    ]
}

fn cycled(names: &[&str], n: usize) -> Vec<String> {
    names.iter().cycle().take(n).map(|&name| name.to_owned()).collect()
}

fn heat_map(n_rows: usize, n_columns: usize, (low, high): (f64, f64), palette: Palette) -> HeatMap {
    let cell = |row: usize, column: usize| match (row, column) {
        (1, 1) => f64::NAN,
        _ => low + (high - low) * ((row * 5 + column * 3) % 8) as f64 / 7.0,
    };
    HeatMap {
        title: "FPDGD against FOLtR-ES".into(),
        subtitle: "discounted online nDCG@10 by privacy budget and users".into(),
        columns: cycled(&["epsilon = 1.2", "epsilon = 10", "unprotectedfederation, all"], n_columns),
        rows: cycled(&["MQ2007, perfect", "MSLR-WEB10K with a very long name of its users and clients"], n_rows),
        cells: (0..n_rows).map(|row| (0..n_columns).map(|column| cell(row, column)).collect()).collect(),
        digits: 2,
        palette,
        note: "The least over all attacks, with five seeds and five folds of each, and much more besides.".into(),
    }
}

fn heat_maps() -> Vec<(&'static str, HeatMap)> {
    vec![
        ("6x4", heat_map(6, 4, (285.96, 325.04), Palette::Sequential)),
        ("3x8", heat_map(3, 8, (-0.35, 0.2), Palette::Diverging { centre: 0.0 })),
        ("2x2", heat_map(2, 2, (0.7, 0.7), Palette::Sequential)),
        ("nothing", HeatMap::default()),
    ]
}

fn figures() -> Vec<(String, Figure)> {
    let curves = curve_figures().into_iter().map(|(name, figure)| (format!("curves-{name}"), Figure::Curves(figure)));
    let bars = bar_figures().into_iter().map(|(name, figure)| (format!("bars-{name}"), Figure::Bars(figure)));
    let maps = heat_maps().into_iter().map(|(name, figure)| (format!("heat-{name}"), Figure::HeatMap(figure)));
    curves.chain(bars).chain(maps).collect()
}

/// A whole page, a column of a paper, a small square.
fn rooms() -> [Room; 4] {
    let sized = |width, height| Room { width: Some(width), height };
    [Room::default(), sized(900.0, None), sized(420.0, None), sized(420.0, Some(300.0))]
}

#[test]
fn labels_lie_inside_the_picture_and_apart_from_each_other() {
    for ((name, figure), room) in figures().into_iter().flat_map(|it| rooms().map(move |room| (it.clone(), room))) {
        let Canvas { labels, size: (width, height), .. } = figure.compose(room);
        for label in &labels {
            let is_inside = label.left >= 0.0 && label.top >= 0.0 && label.right <= width && label.bottom <= height;
            assert!(is_inside, "{name}: {label:?} is not inside {width} x {height}");
        }
        for (idx, one) in labels.iter().enumerate() {
            for other in &labels[idx + 1..] {
                let is_apart = one.right <= other.left
                    || other.right <= one.left
                    || one.bottom <= other.top
                    || other.bottom <= one.top;
                assert!(is_apart, "{name}: {one:?} and {other:?}");
            }
        }
    }
}

#[test]
fn what_is_drawn_lies_inside_the_picture() {
    for (name, figure) in figures() {
        let tree = Tree::from_str(&outline::outlined(&figure.svg()), &Options::default()).expect("a sound figure");
        let content = tree.root().abs_bounding_box();
        let (width, height) = (tree.size().width(), tree.size().height());
        assert!(content.left() >= 0.0 && content.top() >= 0.0, "{name}: {content:?}");
        assert!(content.right() <= width && content.bottom() <= height, "{name}: {content:?} in {width} x {height}");
    }
}

#[test]
fn no_number_of_an_svg_is_unsound_and_all_text_is_escaped() {
    for (name, figure) in figures() {
        let svg = figure.svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf\"") && !svg.contains("inf "), "{name}");
        assert!(!svg.contains("<privacy>") && !svg.contains("& "), "{name}");
    }
    let svg = figures()[0].1.svg();
    assert!(svg.contains("Offline performance &amp; &lt;privacy&gt;</text>"), "{svg}");
}

#[test]
fn a_series_is_one_group_with_its_band_and_its_name() {
    let svg = Figure::Curves(grid(1, 2, 3, (0.4, 0.8), 5000)).svg();
    let groups: Vec<&str> = svg.split(r#"<g class="series""#).skip(1).collect();
    assert_eq!(groups.len(), 6, "three methods in two panels");
    let group = groups.iter().find(|group| group.starts_with(r#" data-series="1" data-name="FPDGD">"#));
    let shapes = group.and_then(|group| group.split("</g>").next()).expect("the second method");
    assert!(shapes.contains(r#"class="band""#) && shapes.contains(r#"class="line""#));
    let line = shapes.split(r#"class="line" d=""#).nth(1).and_then(|line| line.split('"').next()).expect("a line");
    assert_eq!(line.matches(['M', 'L']).count(), 1000, "5000 points are thinned");
}

#[test]
fn the_png_shows_text_without_any_font_of_the_machine() {
    let figure = grid(1, 1, 2, (0.4, 0.8), 20);
    let mut silent = figure.clone();
    silent.x_label = " ".into();
    let picture = png(&Figure::Curves(figure).svg()).expect("a sound figure");
    assert_eq!(picture[..8], *b"\x89PNG\r\n\x1a\n");
    assert_ne!(picture, png(&Figure::Curves(silent).svg()).expect("a sound figure"));
}

#[test]
fn all_files_keep_the_whole_stem() {
    let folder = tempfile::tempdir().expect("a folder");
    let svg = Figure::Curves(CurveFigure::default()).svg();
    let files = write(&svg, &folder.path().join("figure-3.1")).expect("written");
    let names = ["figure-3.1.svg", "figure-3.1.png", "figure-3.1.pdf"];
    assert!(files.iter().zip(names).all(|(file, name)| file.ends_with(name) && file.is_file()), "{files:?}");
}

#[test]
fn figures_of_a_sheet_stand_below_each_other() {
    let figures = [Figure::Bars(BarFigure::default()), Figure::Curves(CurveFigure::default())];
    let sheet = sheet(&figures);
    let [first, second] = figures.map(|figure| figure.compose(Room::default()).size.1.ceil());
    assert!(sheet.contains(&format!("<svg y=\"{first}\" ")), "{sheet}");
    assert!(sheet.contains(&format!("height=\"{}\" viewBox", first + second)), "{sheet}");
    assert!(png(&sheet).is_ok());
}

#[test]
fn bars_that_would_hide_differences_are_points_and_say_where_the_axis_starts() {
    let figure = |low: f64, high: f64| Figure::Bars(bars(2, 3, (low, high), Some(3))).svg();
    let close = figure(0.72, 0.75);
    assert!(close.contains("class=\"marker\"") && !close.contains("class=\"series\"><rect"), "{close}");
    assert!(
        close.contains("the axis starts at 0.71, not at 0") || close.contains("the axis starts at 0.715, not at 0")
    );
    let far = figure(0.2, 0.9);
    assert!(!far.contains("class=\"marker\"") && far.contains("<rect") && !far.contains("not at 0"));
}

#[test]
fn a_sized_figure_has_the_size_and_the_letters_that_were_asked_for() {
    let format = Format { width: "8.4cm".parse().ok(), font_size: Some(8.0), without_title: true, ..Format::default() };
    for (name, figure) in figures() {
        let svg = figure.formatted(&format);
        let size = |key: &str| {
            let rest = svg.split(&format!("{key}=\"")).nth(1).and_then(|rest| rest.split('"').next()).expect(key);
            rest.trim_end_matches("pt").split(' ').map(|it| it.parse().expect(rest)).collect::<Vec<f64>>()
        };
        let (width, view) = (size("width")[0], size("viewBox"));
        assert!(width <= 8.4 * 72.0 / 2.54 + 0.001, "{name}: {width}");
        let letters = 14.0 * width / view[2];
        assert!(letters > 2.0 && letters < 8.01, "{name}: {letters}");
        // Others have more in them than fits into a column, and smaller letters.
        if ["curves-1x1", "heat-2x2"].contains(&name.as_str()) {
            assert!((letters - 8.0).abs() < 0.01 && (width - 238.11).abs() < 0.01, "{name}: {letters}, {width}");
        }
        assert!(!svg.contains("Offline performance"), "{name} has a title");
    }
    let named = Format { x_label: Some("rounds".into()), y_label: Some("quality".into()), ..Format::default() };
    let svg = Figure::Curves(grid(1, 1, 2, (0.4, 0.8), 20)).formatted(&named);
    assert!(
        svg.contains(">rounds</text>")
            && svg.contains(">quality</text>")
            && !svg.contains(">nDCG@10 on test queries</text>")
    );
    let tall = Format { height: "9cm".parse().ok(), ..format };
    let svg = Figure::Curves(grid(1, 1, 2, (0.4, 0.8), 20)).formatted(&tall);
    assert!(svg.contains("width=\"238.110pt\" height=\"255.118pt\""), "{}", &svg[..200]);
    let map = Figure::HeatMap(heat_map(2, 2, (0.7, 0.7), Palette::Sequential)).formatted(&tall);
    assert!(map.contains("height=\"255.118pt\""), "{}", &map[..200]);
    let bars = Figure::Bars(bars(1, 2, (0.2, 0.9), Some(3))).formatted(&tall);
    assert!(bars.contains("height=\"255.118pt\""), "{}", &bars[..200]);
}

/// Every page is of the figure's size, and has its lines: text and curves are paths that a reader can count.
#[test]
fn a_pdf_has_the_size_and_the_paths_of_its_figure() {
    let figure = Figure::Curves(grid(1, 1, 2, (0.4, 0.8), 20));
    let size = |text: &str| text.parse().ok();
    let format = Format { width: size("8.4cm"), height: size("7cm"), without_title: true, ..Format::default() };
    let document = pdf(&figure.formatted(&format)).expect("a document");
    assert!(document.starts_with(b"%PDF-1.") && document.ends_with(b"%%EOF"));
    let text = String::from_utf8_lossy(&document);
    let page = text.split("/MediaBox [").nth(1).and_then(|rest| rest.split(']').next()).expect("a page");
    let sides: Vec<f64> = page.split(' ').map(|side| side.parse().expect(page)).collect();
    assert!((sides[2] - 238.11).abs() < 0.1 && (sides[3] - 198.43).abs() < 0.1, "{page}");
    assert!(text.contains("/ca 0.18"), "bands are transparent");
    assert_eq!(text.matches("/Font").count(), 0, "letters are outlines");
}

#[test]
fn every_figure_is_a_pdf_that_other_programs_draw() {
    let reader = foltr_test::latex();
    let folder = tempfile::tempdir().expect("a folder");
    for (name, figure) in figures() {
        let path = folder.path().join(format!("{name}.pdf"));
        std::fs::write(&path, pdf(&figure.svg()).expect("a document")).expect("written");
        if reader.is_some() {
            let output = std::process::Command::new("pdftoppm")
                .args(["-r", "20"])
                .arg(&path)
                .arg(&name)
                .current_dir(folder.path())
                .output();
            let output = output.expect("pdftoppm starts");
            assert!(output.status.success() && output.stderr.is_empty(), "{name}: {output:?}");
        }
    }
}
