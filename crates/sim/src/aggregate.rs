//! The results of several seeds as one document: the mean and the deviation of each figure.

use crate::summary::Summary;
use serde_json::{Map, Value, json};

/// The kind of document that the replicates' figures are.
const KIND: &str = "sim.replicates";

/// Keys whose values belong to the scenario: they stay plain numbers. The duration does not where
/// each run ends when its flows are done.
const CONSTANT: [&str; 7] = [
    "schema",
    "series_schema",
    "duration_s",
    "steady_from_s",
    "rtt_min_ms",
    "from_bytes",
    "below_bytes",
];

/// Lists over time, whose positions are intervals.
const BY_POSITION: [&str; 2] = ["mbit_per_s", "fairness_index"];

/// One object with the summaries' keys, in which each figure is `{"mean", "sd"}`: its mean over the
/// replicates and the sample standard deviation (0 for a single replicate). `seed` becomes `seeds`;
/// lists of samples, which may differ in length, are pooled, those over time averaged by position; a figure that some replicates lack is
/// averaged over the others. `null` without summaries.
pub fn aggregate(summaries: &[Summary]) -> Value {
    let values: Vec<Value> = summaries.iter().map(|summary| json!(summary)).collect();
    let mut merged = merge("", &values.iter().collect::<Vec<_>>());
    if let Value::Object(keys) = &mut merged {
        keys.remove("seed");
        keys.insert("kind".into(), KIND.into());
        keys.insert("seeds".into(), summaries.iter().map(|summary| summary.seed).collect());
    }
    merged
}

fn merge(key: &str, values: &[&Value]) -> Value {
    let present: Vec<&Value> = values.iter().copied().filter(|value| !value.is_null()).collect();
    match present.first() {
        None => Value::Null,
        Some(first @ Value::Number(_)) if is_constant(key, &present) => (*first).clone(),
        Some(Value::Number(_)) => mean_and_sd(&present),
        Some(Value::Object(first)) => merge_objects(first, &present),
        Some(Value::Array(_)) => merge_arrays(key, &present),
        Some(first) => (*first).clone(),
    }
}

fn is_constant(key: &str, values: &[&Value]) -> bool {
    CONSTANT.contains(&key) && values.windows(2).all(|pair| pair[0] == pair[1])
}

fn merge_objects(first: &Map<String, Value>, values: &[&Value]) -> Value {
    let of_key = |key: &String| {
        let members: Vec<&Value> = values.iter().filter_map(|value| value.get(key)).collect();
        (key.clone(), merge(key, &members))
    };
    first.keys().map(of_key).collect()
}

fn merge_arrays(key: &str, arrays: &[&Value]) -> Value {
    let arrays: Vec<&Vec<Value>> = arrays.iter().filter_map(|value| value.as_array()).collect();
    let numbers = arrays.iter().any(|array| array.first().is_some_and(Value::is_number));
    if numbers && !BY_POSITION.contains(&key) {
        return arrays.into_iter().flatten().cloned().collect();
    }
    let longest = arrays.iter().map(|array| array.len()).max().unwrap_or(0);
    let at = |position| {
        let members: Vec<&Value> = arrays.iter().filter_map(|array| array.get(position)).collect();
        merge("", &members)
    };
    (0..longest).map(at).collect()
}

fn mean_and_sd(values: &[&Value]) -> Value {
    let samples: Vec<f64> = values.iter().filter_map(|value| value.as_f64()).collect();
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let squares: f64 = samples.iter().map(|sample| (sample - mean) * (sample - mean)).sum();
    let sd = if samples.len() > 1 { libm::sqrt(squares / (n - 1.0)) } else { 0.0 };
    json!({ "mean": mean, "sd": sd })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(values: &[Value]) -> Value {
        merge("", &values.iter().collect::<Vec<_>>())
    }

    #[test]
    fn figures_become_mean_and_sample_standard_deviation() {
        let values = [json!({"a": 1, "b": {"c": 2.0}}), json!({"a": 3, "b": {"c": 2.0}})];
        let sd = libm::sqrt(2.0);
        assert_eq!(
            merged(&values),
            json!({"a": {"mean": 2.0, "sd": sd}, "b": {"c": {"mean": 2.0, "sd": 0.0}}})
        );
    }

    #[test]
    fn lists_of_objects_are_merged_one_by_one_and_lists_of_numbers_pooled() {
        let values = [
            json!({"flows": [{"name": "x", "rate": 4, "times": [1.0]}, {"name": "y"}]}),
            json!({"flows": [{"name": "x", "rate": 6, "times": []}, {"name": "y"}]}),
        ];
        let rate = json!({"mean": 5.0, "sd": libm::sqrt(2.0)});
        assert_eq!(
            merged(&values),
            json!({"flows": [{"name": "x", "rate": rate, "times": [1.0]}, {"name": "y"}]})
        );
    }

    #[test]
    fn lists_over_time_are_averaged_by_position() {
        let values = [
            json!({"fairness_index": [null, 0.5, 1.0]}),
            json!({"fairness_index": [0.75, 0.5, 0.5]}),
        ];
        let found = merged(&values);
        let means: Vec<f64> =
            (0..3).filter_map(|n| found["fairness_index"][n]["mean"].as_f64()).collect();
        assert_eq!(means, [0.75, 0.5, 0.75]);
    }

    #[test]
    fn absent_figures_stay_absent_and_the_scenarios_own_stay_plain() {
        let values =
            [json!({"slope": null, "rtt_min_ms": 4.0}), json!({"slope": null, "rtt_min_ms": 4.0})];
        assert_eq!(merged(&values), json!({"slope": null, "rtt_min_ms": 4.0}));
        let one = [json!({"srtt": null}), json!({"srtt": 7.0})];
        assert_eq!(merged(&one), json!({"srtt": {"mean": 7.0, "sd": 0.0}}));
        assert_eq!(aggregate(&[])["schema"], Value::Null);
    }
}
