//! Several figures below each other, as one picture.

use super::Figure;
use super::text::FALLBACKS;

/// All figures as one SVG, from top to bottom.
pub fn sheet(figures: &[Figure]) -> String {
    let (mut width, mut height, mut body) = (0.0_f64, 0.0_f64, String::new());
    for figure in figures {
        let (its_width, its_height) = figure.size();
        // A nested picture keeps its own coordinates.
        body.push_str(&figure.svg().replacen("<svg ", &format!("<svg y=\"{height}\" "), 1));
        (width, height) = (width.max(its_width), height + its_height);
    }
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" class="sheet" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" font-family="{FALLBACKS}">
<rect width="{width}" height="{height}" fill="white"/>
{body}</svg>
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{BarFigure, CurveFigure, png};

    #[test]
    fn figures_stand_below_each_other() {
        let figures: [Figure; 2] = [BarFigure::default().into(), CurveFigure::default().into()];
        let sheet = sheet(&figures);
        let (first, second) = (figures[0].size(), figures[1].size());
        assert!(sheet.contains(&format!("<svg y=\"{}\" ", first.1)), "{sheet}");
        assert!(sheet.contains(&format!("height=\"{}\" viewBox", first.1 + second.1)), "{sheet}");
        assert!(png(&sheet).is_ok());
    }
}
