//! Changes of schema, as a code review shows them and as JSON. The JSON forms are documented in `docs/cli.md` and
//! stable. Pure.

use omnigraph_engine::model::{SchemaStep, StepAction, StepWork, Subject};
use serde_json::{Value as Json, json};

use super::colour::{Ink, Paint};
use super::{shape, table};
use crate::literal::shown;
use crate::target::{Evolved, Plan, SchemaDiff};

/// Characters of a sentence about a step; more is cut off.
const SENTENCE: usize = 400;

/// Subjects that a question names; the rest is counted.
const NAMED: usize = 5;

/// Characters of a name in a list of steps.
const NAME: usize = 120;

/// What a change of schema of this branch would come to.
pub(crate) fn plan_json(plan: &Plan, branch: &str) -> Json {
    json!({
        "branch": branch,
        "head": plan.head,
        "steps": steps_json(&plan.steps, true),
        "refused": plan.refused(),
        "loses_data": plan.losing().next().is_some(),
        "source": plan.source,
    })
}

/// The same for people. `command` applies it.
pub(crate) fn plan_text(plan: &Plan, branch: &str, command: &str, paint: Paint) -> String {
    let branch = shown(branch, NAME);
    if plan.steps.is_empty() {
        return format!("nothing to do: branch {branch} has this schema already, at {}\n", plan.head);
    }
    let mut text = format!("branch {branch} at {}\n\n", plan.head);
    text.push_str(&steps_text(&plan.steps, true, paint));
    text.push_str(&format!("\n{}\n", summary(plan)));
    if plan.refused() == 0 {
        text.push_str(&format!("to apply exactly this:\n  {command}\n"));
    }
    text
}

fn summary(plan: &Plan) -> String {
    let losing = plan.losing().count();
    let loses = if losing == 1 { "loses data" } else { "lose data" };
    let parts = [(plan.refused(), "refused"), (losing, loses)];
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let (parts, all) = (parts.collect::<Vec<_>>().join(", "), counted(plan.steps.len() as u64, "step"));
    if parts.is_empty() { all } else { format!("{all}: {parts}") }
}

/// What a change of schema did.
pub(crate) fn evolved_json(evolved: &Evolved) -> Json {
    json!({"receipt": shape::outcome(&evolved.write), "steps": steps_json(&evolved.steps, true)})
}

/// The same for people.
pub(crate) fn evolved_text(evolved: &Evolved, paint: Paint) -> String {
    format!("{}\n{}", table::outcome(&evolved.write), steps_text(&evolved.steps, true, paint))
}

/// How the schemas of two versions differ.
pub(crate) fn diff_json(diff: &SchemaDiff) -> Json {
    json!({"before": diff.before, "after": diff.after, "steps": steps_json(&diff.steps, false)})
}

/// The same for people.
pub(crate) fn diff_text(diff: &SchemaDiff, paint: Paint) -> String {
    steps_text(&diff.steps, false, paint)
}

/// What would be lost, for a question.
pub(crate) fn losses(plan: &Plan) -> String {
    let names: Vec<String> = plan.losing().map(|step| shown(&step.subject.to_string(), NAME)).collect();
    let mut text = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        text.push_str(&format!(" and {} more", names.len() - NAMED));
    }
    text
}

pub(crate) fn steps_json(steps: &[SchemaStep], costs: bool) -> Vec<Json> {
    steps.iter().map(|step| step_json(step, costs)).collect()
}

fn step_json(step: &SchemaStep, costs: bool) -> Json {
    let (type_ref, property, interface) = match &step.subject {
        Subject::Interface(name) => (None, None, Some(name)),
        Subject::Type(type_ref) => (Some(type_ref), None, None),
        Subject::Property(type_ref, property) => (Some(type_ref), Some(property), None),
    };
    json!({
        "action": step.action.as_str(),
        "subject": step.subject.to_string(),
        "kind": type_ref.map(|ty| ty.kind.as_str()),
        "type": type_ref.map(|ty| &ty.name),
        "property": property,
        "interface": interface,
        "description": step.description,
        "cost": costs.then(|| cost_json(step.work)),
        "loses_data": step.loses_data,
        "refusal": step.refusal.as_ref().map(|r| json!({"code": r.code.as_str(), "remedy": r.remedy})),
    })
}

fn cost_json(work: StepWork) -> Json {
    let (work, rows, bytes) = match work {
        StepWork::Metadata => ("metadata", 0, 0),
        StepWork::Check { rows } => ("check", rows, 0),
        StepWork::Rewrite { rows, bytes } => ("rewrite", rows, bytes),
    };
    json!({"work": work, "rows": rows, "bytes": bytes})
}

/// A line for each step, and below it what stands against it.
pub(crate) fn steps_text(steps: &[SchemaStep], costs: bool, paint: Paint) -> String {
    let names: Vec<String> = steps.iter().map(|step| shown(&step.subject.to_string(), NAME)).collect();
    let costs: Vec<String> = steps.iter().map(|step| if costs { cost(step) } else { String::new() }).collect();
    let width = |texts: &[String]| texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    let (name_width, cost_width) = (width(&names), width(&costs));
    let mut out = String::new();
    for ((step, name), cost) in steps.iter().zip(&names).zip(&costs) {
        let (sign, ink) = sign(step.action);
        out.push_str(&paint.with(ink, &format!("{sign} {name:name_width$}")));
        if cost_width > 0 {
            let cost = format!("  {cost:cost_width$}");
            out.push_str(&if step.loses_data { paint.with(Ink::Red, &cost) } else { cost });
        }
        out.push_str(&format!("  {}\n", shown(&step.description, SENTENCE)));
        if let Some(refusal) = &step.refusal {
            let told = format!("    refused, {}: {}", refusal.code.as_str(), shown(&refusal.remedy, SENTENCE));
            out.push_str(&paint.with(Ink::BoldRed, &told));
            out.push('\n');
        }
    }
    out
}

fn sign(action: StepAction) -> (char, Ink) {
    match action {
        StepAction::Add => ('+', Ink::Green),
        StepAction::Drop => ('-', Ink::Red),
        StepAction::Rename | StepAction::Alter => ('~', Ink::Yellow),
    }
}

/// What a step costs, and whether it loses data.
fn cost(step: &SchemaStep) -> String {
    let cost = match step.work {
        StepWork::Metadata => "metadata only".to_string(),
        StepWork::Check { rows } => format!("checks {}", counted(rows, "row")),
        StepWork::Rewrite { rows, bytes } => format!("rewrites {}, {}", counted(rows, "row"), size(bytes)),
    };
    if step.loses_data { format!("{cost}, loses data") } else { cost }
}

/// So many of something, in groups of three digits: `1,200 rows`.
fn counted(count: u64, what: &str) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    format!("{text} {what}{}", if count == 1 { "" } else { "s" })
}

/// Bytes that somebody estimated, in thousands: `9.6 KB`.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut at = 0;
    // What would be rounded to 1000 is one of the next unit.
    while value >= 999.95 && at + 1 < UNITS.len() {
        value /= 1000.0;
        at += 1;
    }
    format!("{value:.1} {}", UNITS[at])
}

#[cfg(test)]
mod tests;
