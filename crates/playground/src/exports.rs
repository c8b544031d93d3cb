//! The functions of the WebAssembly module. It has one session at a time, and a buffer for texts in each
//! direction: the page writes a text at the address that [`input`] returns, and reads
//! [`output_length`] bytes at [`output`].

#![expect(unsafe_code, reason = "names of exports; no pointer is followed here")]

use crate::session::Session;
use serde_json::{Value, json};
use std::cell::RefCell;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
}

/// Makes room for a text of `length` bytes, and returns its address.
#[unsafe(no_mangle)]
extern "C" fn input(length: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        *input = vec![0; length];
        input.as_mut_ptr()
    })
}

/// The address of the last answer.
#[unsafe(no_mangle)]
extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(|output| output.as_ptr())
}

/// The length of the last answer in bytes.
#[unsafe(no_mangle)]
extern "C" fn output_length() -> usize {
    OUTPUT.with_borrow(Vec::len)
}

/// Begins a run of the scenario in the input. 1 if it is well; 0 if not, with the problems as the
/// answer, a list of `{ place, key, message }`.
#[unsafe(no_mangle)]
extern "C" fn begin(with_files: u32) -> u32 {
    let text = INPUT.take();
    let session = match std::str::from_utf8(&text) {
        Ok(text) => Session::new(text, with_files != 0).map_err(|problems| {
            let problem = |p: &windlass_scenario::Problem| {
                json!({ "place": p.position, "key": p.key, "message": p.message.to_string() })
            };
            problems.iter().map(problem).collect()
        }),
        Err(error) => Err(json!([{ "place": "", "key": "", "message": error.to_string() }])),
    };
    match session {
        Ok(session) => {
            SESSION.set(Some(session));
            1
        }
        Err(problems) => {
            SESSION.set(None);
            answer(&problems);
            0
        }
    }
}

/// Runs on for a part of the duration; returns the part that is over, 1 at the end.
#[unsafe(no_mangle)]
extern "C" fn advance(step: f64) -> f64 {
    SESSION.with_borrow_mut(|session| session.as_mut().map_or(1.0, |session| session.advance(step)))
}

/// Ends the run. The answer is an [`Outcome`](crate::Outcome).
#[unsafe(no_mangle)]
extern "C" fn finish(curve_spans: usize, rate_spans: usize) {
    match SESSION.take() {
        Some(session) => answer(&json!(session.finish(curve_spans, rate_spans))),
        None => answer(&Value::Null),
    }
}

/// Ends the run. The answer is a list of pairs: name and contents of each file of the run.
#[unsafe(no_mangle)]
extern "C" fn finish_with_files() {
    let files = SESSION.take().map(Session::finish_with_files);
    match files {
        Some(Ok(files)) => answer(&json!(files)),
        Some(Err(_)) | None => answer(&Value::Null),
    }
}

fn answer(value: &Value) {
    OUTPUT.set(value.to_string().into_bytes());
}
