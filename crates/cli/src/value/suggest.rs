//! Suggestions for misspelt names.

/// The name that `word` may be a misspelling of.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let nearest = names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, name)| {
            *distance <= (name.len().max(word.len()) / 3).max(1) && *distance < word.len()
        });
    nearest.map(|(_, name)| name)
}

/// `; did you mean "x"?`, or nothing if no name is near `word`.
pub(crate) fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, names).map_or_else(String::new, |name| format!("; did you mean {name:?}?"))
}

/// `expected one of a, b, c`, with a suggestion.
pub(crate) fn expected_one_of(word: &str, names: &[&str]) -> String {
    format!("expected one of {}{}", names.join(", "), did_you_mean(word, names.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        assert_eq!(did_you_mean("cubik", ["cubic", "reno"]), "; did you mean \"cubic\"?");
        assert_eq!(did_you_mean("bbr", ["cubic", "reno"]), "");
        assert_eq!(did_you_mean("x", ["y"]), "");
    }
}
