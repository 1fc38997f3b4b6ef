//! How do the terms of a text become one vector (spec section 16.1)?
//!
//! A text is x = sum over its terms t of s(t) f(t) e(t), with the share s(t) of the text and the factor f(t) of the
//! term alone:
//!
//! | composition | s(t) | f(t) |
//! |---|---|---|
//! | sum | c(t) | w(t) |
//! | softmax | c(t) exp(w(t)) / Z, Z = sum of c exp(w) | 1 |
//! | mean | c(t) / N, N = sum of c abs(w) | w(t) |
//!
//! So all that a text adds to the gradients of e(t) and w(t) is s(t) dx and, where its normaliser depends on w, the
//! scalar s(t) x.dx: see [`Composition::slope`].

use crate::Bag;

use super::shape::Composition;

impl Composition {
    /// Appends the share of each term of a text.
    pub(crate) fn shares(self, bag: &Bag, weights: &[f32], shares: &mut Vec<f32>) {
        let weight = |term: &u32| weights[*term as usize];
        let of_text = shares.len();
        match self {
            Self::Sum => return shares.extend(&bag.counts),
            Self::Softmax => {
                // The largest weight leaves the exponent, so that none overflows.
                let largest = bag.terms.iter().map(weight).fold(f32::NEG_INFINITY, f32::max);
                let powers =
                    bag.terms.iter().zip(&bag.counts).map(|(term, count)| count * (weight(term) - largest).exp());
                shares.extend(powers);
            }
            Self::Mean => shares.extend(&bag.counts),
        }
        let shares = &mut shares[of_text..];
        let total: f32 = match self {
            Self::Mean => bag.terms.iter().zip(&*shares).map(|(term, count)| count * weight(term).abs()).sum(),
            _ => shares.iter().sum(),
        };
        // All weights 0: the text is the zero vector, whatever its shares.
        let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
        shares.iter_mut().for_each(|share| *share *= scale);
    }

    /// s(t) f(t) of each term of a text, in place of what was there.
    pub(crate) fn coefficients(self, bag: &Bag, weights: &[f32], out: &mut Vec<f32>) {
        out.clear();
        self.shares(bag, weights, out);
        for (coefficient, &term) in out.iter_mut().zip(&bag.terms) {
            *coefficient *= self.factor(weights[term as usize]);
        }
    }

    /// f(t): what a share is multiplied by.
    #[inline]
    pub(crate) fn factor(self, weight: f32) -> f32 {
        match self {
            Self::Sum | Self::Mean => weight,
            Self::Softmax => 1.0,
        }
    }

    /// How much of s(t) x.dx is taken from the gradient s(t) e(t).dx of a term's weight.
    ///
    /// With f = w: dx/dw(t) = s(t) e(t), less s(t) sign(w(t)) x if the shares are divided by N. With the softmax:
    /// dx/dw(t) = s(t) (e(t) - x).
    #[inline]
    pub(crate) fn slope(self, weight: f32) -> f32 {
        match self {
            Self::Sum => 0.0,
            Self::Softmax => 1.0,
            Self::Mean if weight == 0.0 => 0.0,
            Self::Mean => weight.signum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_without_terms_or_weights_are_nothing() {
        for composition in [Composition::Sum, Composition::Softmax, Composition::Mean] {
            let mut shares = vec![7.0];
            composition.shares(&Bag::default(), &[], &mut shares);
            assert_eq!(shares, [7.0]);
        }
        let mut shares = vec![];
        Composition::Mean.shares(&Bag { terms: vec![0], counts: vec![1.0] }, &[0.0], &mut shares);
        assert_eq!(shares, [0.0]);
    }
}
