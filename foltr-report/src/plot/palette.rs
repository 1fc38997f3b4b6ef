//! Colours of a heat map, and the ink that can be read on them.
//!
//! After the schemes Blues and PuOr of `HB03` ColorBrewer, which people with any kind of colour vision can read. Between
//! the given colours the components are mixed evenly.

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Palette {
    /// From light to dark blue: more is darker.
    #[default]
    Sequential,
    /// From orange through white at the centre to purple: below and above.
    Diverging { centre: f64 },
}

type Rgb = [f64; 3];

const BLUES: [u32; 6] = [0xF7_FB_FF, 0xD2_E3_F3, 0x9A_C8_E0, 0x57_A0_CE, 0x21_71_B5, 0x08_40_81];
const ORANGE_TO_PURPLE: [u32; 7] = [0xB3_58_06, 0xF1_A3_40, 0xFE_E0_B6, 0xF7_F7_F7, 0xD8_DA_EB, 0x99_8E_C3, 0x54_27_88];

impl Palette {
    /// The values at both ends of the colours, given the least and the largest value: around a centre, both are as far
    /// from it.
    pub fn ends(self, low: f64, high: f64) -> (f64, f64) {
        let (low, high) = match self {
            Self::Sequential => (low, high),
            Self::Diverging { centre } => {
                let reach = (high - centre).abs().max((centre - low).abs());
                (centre - reach, centre + reach)
            }
        };
        if low < high { (low, high) } else { (low - 0.5, high + 0.5) }
    }

    /// Fill and ink at a share between both ends.
    pub fn colours(self, share: f64) -> (String, &'static str) {
        let rgb = match self {
            Self::Sequential => between(&BLUES, share),
            Self::Diverging { .. } => between(&ORANGE_TO_PURPLE, share),
        };
        let [red, green, blue] = rgb.map(|part| part.round() as u8);
        (format!("#{red:02x}{green:02x}{blue:02x}"), ink(rgb))
    }
}

fn between(colours: &[u32], share: f64) -> Rgb {
    let place = share.clamp(0.0, 1.0) * (colours.len() - 1) as f64;
    let idx = (place as usize).min(colours.len() - 2);
    let parts = |colour: u32| [16, 8, 0].map(|shift| f64::from(colour >> shift & 0xFF));
    let (before, after) = (parts(colours[idx]), parts(colours[idx + 1]));
    let rest = place - idx as f64;
    [0, 1, 2].map(|part| before[part] + rest * (after[part] - before[part]))
}

fn ink(rgb: Rgb) -> &'static str {
    let luminance = luminance(rgb);
    if contrast(luminance, 0.0) >= contrast(1.0, luminance) { "#000000" } else { "#ffffff" }
}

/// Relative luminance as in WCAG 2.1.
fn luminance(rgb: Rgb) -> f64 {
    let [red, green, blue] = rgb.map(|part| {
        let part = part / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// Contrast ratio as in WCAG 2.1, of a lighter and a darker luminance.
fn contrast(lighter: f64, darker: f64) -> f64 {
    (lighter + 0.05) / (darker + 0.05)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ink_can_be_read_on_every_colour() {
        for palette in [Palette::Sequential, Palette::Diverging { centre: 0.0 }] {
            for step in 0..=100 {
                let (fill, ink) = palette.colours(f64::from(step) / 100.0);
                let rgb = u32::from_str_radix(&fill[1..], 16).expect("a colour");
                let light = luminance([rgb >> 16, rgb >> 8 & 0xFF, rgb & 0xFF].map(f64::from));
                let ratio = if ink == "#000000" { contrast(light, 0.0) } else { contrast(1.0, light) };
                // WCAG 2.1 level AA.
                assert!(ratio >= 4.5, "{ink} on {fill}: {ratio}");
            }
        }
    }

    #[test]
    fn more_is_darker_and_the_centre_is_lightest() {
        let light = |colours: &[u32], share| luminance(between(colours, share));
        let shares: Vec<f64> = (0..=20).map(|step| f64::from(step) / 20.0).collect();
        assert!(shares.windows(2).all(|pair| light(&BLUES, pair[0]) > light(&BLUES, pair[1])));
        assert!(shares.iter().all(|&share| light(&ORANGE_TO_PURPLE, share) <= light(&ORANGE_TO_PURPLE, 0.5)));
        assert_eq!(Palette::Diverging { centre: 1.0 }.ends(0.5, 3.0), (-1.0, 3.0));
    }
}
