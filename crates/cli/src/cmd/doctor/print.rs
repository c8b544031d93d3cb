//! The findings as text and as JSON.

use super::check::Check;
use super::finding::Finding;
use super::machine::Machine;
use super::tools::{Need, Tool};
use crate::envelope::Document;
use serde_json::{Value, json};

/// A tool and what was found of its needs.
#[derive(Debug)]
pub(super) struct Examined {
    pub(super) tool: &'static Tool,
    findings: Vec<(&'static Need, Finding)>,
}

impl Examined {
    /// Looks for all that a tool needs.
    pub(super) fn new(tool: &'static Tool, machine: &Machine) -> Examined {
        let look = |need: &'static Need| (need, need.check.look(machine));
        Examined { tool, findings: tool.needs.iter().map(look).collect() }
    }

    /// Nothing is missing without which the tool does not work.
    pub(super) fn ready(&self) -> bool {
        self.lacking().next().is_none()
    }

    /// The lab's command is missing, and nothing else without which the tool does not work.
    pub(super) fn lacks_the_lab_alone(&self) -> bool {
        !self.ready() && self.lacking().all(|need| matches!(need.check, Check::Lab))
    }

    fn lacking(&self) -> impl Iterator<Item = &'static Need> {
        let missing =
            |(need, finding): &&(&'static Need, Finding)| need.required && is_missing(finding);
        self.findings.iter().filter(missing).map(|(need, _)| *need)
    }
}

fn is_missing(finding: &Finding) -> bool {
    matches!(finding, Finding::Missing(_))
}

/// A paragraph for each tool: a line for what is there, three for what is not.
pub(super) fn text(examined: &[Examined]) -> String {
    examined.iter().map(paragraph).collect::<Vec<_>>().join("\n\n")
}

fn paragraph(examined: &Examined) -> String {
    let ready = if examined.ready() { "ready" } else { "NOT READY" };
    let mut lines = vec![format!("{}: {ready} ({})", examined.tool.name, examined.tool.about)];
    for (need, finding) in &examined.findings {
        let name = need.check.name();
        match finding {
            Finding::Present(found) => lines.push(format!("  ok        {name}: {found}")),
            Finding::Missing(found) => {
                let word = if need.required { "MISSING " } else { "optional" };
                lines.push(format!("  {word}  {name}: {found}"));
                lines.push(format!("            for:    {}", need.why));
                lines.push(format!("            get it: {}", need.get));
            }
        }
    }
    lines.join("\n")
}

/// The same as JSON; `ready` says whether the exit status is 0.
pub(super) fn json(examined: &[Examined], ready: bool) -> String {
    let body = json!({
        "ready": ready,
        "tools": examined.iter().map(tool).collect::<Vec<_>>(),
    });
    Document::new("doctor", body).pretty()
}

fn tool(examined: &Examined) -> Value {
    let needs: Vec<Value> =
        examined.findings.iter().map(|(need, found)| entry(need, found)).collect();
    json!({
        "tool": examined.tool.name,
        "about": examined.tool.about,
        "ready": examined.ready(),
        "needs": needs,
    })
}

fn entry(need: &Need, finding: &Finding) -> Value {
    let (Finding::Present(found) | Finding::Missing(found)) = finding;
    json!({
        "need": need.check.name(),
        "why": need.why,
        "required": need.required,
        "present": !is_missing(finding),
        "found": found,
        "get": need.get,
    })
}
