//! How bytes are damaged, and how often.

/// `FOLTR_FUZZ_ITERATIONS`, or a number that keeps the suite quick.
pub fn n_iterations(default: usize) -> usize {
    match std::env::var("FOLTR_FUZZ_ITERATIONS") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("FOLTR_FUZZ_ITERATIONS = {text} must be a number")),
        Err(_) => default,
    }
}

/// One way to damage bytes; `at` and `word` choose the place and the value.
pub fn damage(bytes: &mut Vec<u8>, (how, at, word): (u8, u16, u32)) {
    // Words that decoders trip over: the ends of the integers, zero, NaNs, infinities, lengths.
    const WORDS: [u32; 9] = [0, 1, u32::MAX, 1 << 31, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0001, 0x7F80_0001, 0x0100_0000];
    let place = usize::from(at) % bytes.len().max(1);
    let special = WORDS[word as usize % WORDS.len()].to_le_bytes();
    // Fields of a message are words after the two bytes of version and kind.
    let field = 2 + 4 * (usize::from(at) % (bytes.len() / 4).max(1));
    match how % 8 {
        0 if !bytes.is_empty() => bytes[place] ^= 1 << (word % 8),
        1 if !bytes.is_empty() => bytes[place] = word as u8,
        2 => bytes.truncate(place),
        3 => bytes.extend(&word.to_le_bytes()[..1 + usize::from(at) % 4]),
        4 => bytes.iter_mut().skip(field).zip(special).for_each(|(byte, new)| *byte = new),
        5 => bytes.iter_mut().skip(place).zip(special).for_each(|(byte, new)| *byte = new),
        6 if !bytes.is_empty() => drop(bytes.remove(place)),
        _ => bytes.insert(place, word as u8),
    }
}
