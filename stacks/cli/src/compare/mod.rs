//! `windlass-stacks compare`: start-up, repair of losses and idle times of contenders beside each other, each alone
//! on the path.

mod idle;
mod loss;
mod start_up;

use crate::args::{Aspect, Compare, Shared};
use crate::bed::Bed;
use crate::contender::Contender;
use crate::table;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::slice;

/// The kind of the JSON document.
const KIND: &str = "stacks.compare";

pub(crate) fn main(args: &Compare) -> Result<(), String> {
    let contenders = args.path.contenders()?;
    let wants = |aspect| args.only.is_none_or(|only| only == aspect);
    let mut document = Map::from_iter([("path".to_owned(), json!(args.path))]);
    let mut texts = vec![];
    if wants(Aspect::StartUp) {
        let rows = each(&contenders, |contender| start_up::figures(&args.path, contender))?;
        texts.push(start_up::text(&rows));
        document.insert("start_up".to_owned(), json!(rows));
    }
    if wants(Aspect::Loss) {
        let rows = each(&contenders, |contender| loss::figures(&args.path, contender))?;
        texts.push(loss::text(&rows));
        document.insert("loss".to_owned(), json!(rows));
    }
    if wants(Aspect::Idle) {
        let rows = each(&contenders, |contender| idle::figures(&args.path, contender))?;
        texts.push(idle::text(&rows));
        document.insert("idle".to_owned(), json!(rows));
    }
    if args.path.json {
        table::json(KIND, &Value::Object(document));
    } else {
        println!("{}", texts.join("\n\n"));
    }
    Ok(())
}

/// The figures of a contender.
#[derive(Debug, Serialize)]
struct Row<F> {
    contender: String,
    #[serde(flatten)]
    figures: F,
}

fn each<F>(
    contenders: &[Contender],
    figures: impl Fn(&Contender) -> Result<F, String>,
) -> Result<Vec<Row<F>>, String> {
    let row = |contender: &Contender| {
        Ok(Row { contender: contender.to_string(), figures: figures(contender)? })
    };
    contenders.iter().map(row).collect()
}

/// The path for one flow with this application, which starts at once.
fn alone(path: &Shared, app: &str, seconds: f64) -> Bed {
    Bed {
        rate: path.rate.clone(),
        rtt_ms: path.rtt,
        queue: path.queue.clone(),
        loss: String::new(),
        seconds,
        steady_from: 0.0,
        app: app.to_owned(),
        jitter: false,
    }
}

/// Runs a contender alone with the first seed.
fn run(bed: &Bed, contender: &Contender) -> Result<crate::bed::Outcome, String> {
    bed.run(slice::from_ref(contender), 1)
}
