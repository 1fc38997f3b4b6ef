//! Several figures below each other, as one picture.

use super::Figure;
use super::text::FALLBACKS;

/// All figures as one SVG, from top to bottom.
pub fn sheet(figures: &[Figure]) -> String {
    let (mut width, mut height, mut body) = (0.0_f64, 0.0_f64, String::new());
    for figure in figures {
        let size = figure.compose().size;
        // A nested picture keeps its own coordinates.
        body.push_str(&figure.svg().replacen("<svg ", &format!("<svg y=\"{height}\" "), 1));
        (width, height) = (width.max(size.0.ceil()), height + size.1.ceil());
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
        let [first, second] = figures.map(|figure| figure.compose().size.1.ceil());
        assert!(sheet.contains(&format!("<svg y=\"{first}\" ")), "{sheet}");
        assert!(sheet.contains(&format!("height=\"{}\" viewBox", first + second)), "{sheet}");
        assert!(png(&sheet).is_ok());
    }
}
