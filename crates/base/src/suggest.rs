//! Suggestions for misspelt names, for messages to users. Needs the feature `suggest`.

use std::format;
use std::string::String;

/// The one of `names` that `word` may be a misspelling of. Upper and lower case count as equal; of
/// equally near names it is the longest.
///
/// A name is near if at most a third of the letters of the longer word differ (one in short words),
/// by letters added, left out, replaced, or exchanged with their neighbour.
pub fn nearest<N: AsRef<str>>(word: &str, names: impl IntoIterator<Item = N>) -> Option<N> {
    let lower = word.to_ascii_lowercase();
    let near = names.into_iter().filter_map(|name| {
        let other = name.as_ref();
        let distance = strsim::damerau_levenshtein(&lower, &other.to_ascii_lowercase());
        let most = (other.len().max(word.len()) / 3).max(1);
        let rank = (distance, core::cmp::Reverse(other.len()));
        (distance <= most && distance < word.len()).then_some((rank, name))
    });
    near.min_by_key(|(rank, _)| *rank).map(|(_, name)| name)
}

/// `; did you mean "x"?` with the [`nearest`] name, or an empty string.
///
/// ```
/// use windlass_base::suggest::did_you_mean;
///
/// let near = did_you_mean("cubik", ["cubic", "reno"]);
/// assert_eq!(near, "; did you mean \"cubic\"?");
/// ```
pub fn did_you_mean(word: &str, names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    nearest(word, names)
        .map_or_else(String::new, |name| format!("; did you mean {:?}?", name.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        assert_eq!(nearest("cubik", ["reno", "cubic"]), Some("cubic"));
        assert_eq!(nearest("bbr", ["reno", "cubic"]), None);
        assert_eq!(nearest("x", ["y"]), None, "nothing in common");
        assert_eq!(nearest("", ["y"]), None);
    }

    #[test]
    fn of_several_near_names_the_nearest_is_suggested_and_then_the_longest() {
        assert_eq!(nearest("dealy", ["relay", "delay"]), Some("delay"));
        assert_eq!(nearest("rat", ["ra", "rate"]), Some("rate"));
    }

    #[test]
    fn upper_and_lower_case_are_equal() {
        assert_eq!(nearest("RENO", ["reno"]), Some("reno"));
    }

    #[test]
    fn a_third_of_the_letters_may_differ() {
        assert_eq!(nearest("recoverx", ["recovery"]), Some("recovery"));
        assert_eq!(nearest("abcxyz", ["abcdef"]), None);
        assert_eq!(nearest("abcdyz", ["abcdef"]), Some("abcdef"));
    }
}
