//! `metadata.csv` line by line: who issued which query when. Nothing else of it is kept.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::super::DataError;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) query: Box<str>,
    /// Index into the names of users.
    pub(super) user: u32,
    /// Rises with time; not a number of seconds.
    pub(super) time: u64,
}

/// The names of all users, and all queries in the order of the file.
pub(super) fn read_metadata(file: &Path) -> Result<(Vec<Box<str>>, Vec<Entry>), DataError> {
    let table_error = |source: csv::Error| DataError::of(file, format!("cannot be read: {source}"));
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_path(file).map_err(table_error)?;
    let header = reader.headers().map_err(table_error)?.clone();
    let column = |name: &'static str| {
        let found = header.iter().position(|header| header == name);
        let expected = "expected the columns qid, user_id and timestamp";
        found.ok_or_else(|| DataError::of(file, format!("no column `{name}`; {expected}")))
    };
    let [query, user, time] = [column("qid")?, column("user_id")?, column("timestamp")?];
    let mut numbers: HashMap<Box<str>, u32> = HashMap::new();
    let (mut entries, mut known) = (Vec::new(), HashSet::new());
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(table_error)? {
        let line = record.position().map_or(0, csv::Position::line);
        let text = |column: usize| record.get(column).unwrap_or_default();
        let query: Box<str> = text(query).into();
        if !known.insert(query.clone()) {
            let message = format!("query {query} is there already; every query has one line");
            return Err(DataError::of_line(file, line, message));
        }
        let expected = "expected such as `2006-03-01 07:17:12`";
        let wrong_time = || DataError::of_line(file, line, format!("timestamp `{}`, {expected}", text(time)));
        let time = moment(text(time)).ok_or_else(wrong_time)?;
        // Whoever is not known is nobody's client.
        if text(user).is_empty() {
            continue;
        }
        let next = numbers.len() as u32;
        let user = *numbers.entry(text(user).into()).or_insert(next);
        entries.push(Entry { query, user, time });
    }
    let mut names: Vec<(u32, Box<str>)> = numbers.into_iter().map(|(name, number)| (number, name)).collect();
    names.sort_unstable();
    Ok((names.into_iter().map(|(_, name)| name).collect(), entries))
}

/// A number that rises with the time written as `2006-03-01 07:17:12`: its digits. Fractions of a second are left out.
fn moment(text: &str) -> Option<u64> {
    const FORM: &[u8] = b"dddd-dd-dd dd:dd:dd";
    let (whole, fraction) = text.split_at_checked(FORM.len())?;
    let fits = |(byte, form): (u8, &u8)| match form {
        b'd' => byte.is_ascii_digit(),
        b' ' => byte == b' ' || byte == b'T',
        other => byte == *other,
    };
    let is_fraction = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    if !whole.bytes().zip(FORM).all(fits)
        || !(fraction.is_empty() || fraction.strip_prefix('.').is_some_and(is_fraction))
    {
        return None;
    }
    let digits = whole.bytes().filter(u8::is_ascii_digit);
    Some(digits.fold(0, |number, digit| 10 * number + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_rise_with_time() {
        let rising = ["2005-12-31 23:59:59", "2006-03-01 07:17:12", "2006-03-01T07:17:13.25", "2006-03-02 00:00:00"];
        let moments: Vec<u64> = rising.iter().map(|text| moment(text).expect("a time")).collect();
        assert!(moments.is_sorted_by(|a, b| a < b), "{moments:?}");
        for wrong in ["", "2006-03-01", "2006/03/01 07:17:12", "2006-03-01 07:17:12Z", "2006-03-01 07:17:1x"] {
            assert_eq!(moment(wrong), None, "{wrong}");
        }
    }
}
