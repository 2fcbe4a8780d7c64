//! What is wrong with an input: one misfit of a value, and the bounded list of all problems of a load.
//!
//! Collecting goes on after a problem, listing stops at a limit; both are decided here and nowhere else.

use crate::error::{Error, Reason, Violation};
use crate::limits::MAX_REPORTED_VIOLATIONS;

/// Why one value does not fit its property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Why, machine readable.
    pub reason: Reason,
    /// What was found, shortened and quoted for people.
    pub found: String,
    /// What would have fitted.
    pub expected: String,
}

impl Misfit {
    /// A value that is not of its property's type or does not fit it.
    pub fn mismatch(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { reason: Reason::TypeMismatch, found: found.into(), expected: expected.into() }
    }
}

impl std::fmt::Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "found {}, expected {}", self.found, self.expected)
    }
}

/// Problems of one input. At most [`MAX_REPORTED_VIOLATIONS`] are kept, all are counted.
#[derive(Clone, Debug, Default)]
pub struct Violations {
    listed: Vec<Violation>,
    total: u64,
}

impl Violations {
    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// How many problems there are, listed or not.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The listed problems.
    pub fn listed(&self) -> &[Violation] {
        &self.listed
    }

    /// Adds a problem. `describe` gives the place and the description; it runs only if they are listed.
    pub fn add(&mut self, reason: Reason, describe: impl FnOnce() -> (String, String)) {
        self.total += 1;
        if self.listed.len() < MAX_REPORTED_VIOLATIONS {
            let (field, description) = describe();
            self.listed.push(Violation { field, description, reason });
        }
    }

    /// Adds a problem of the record with this number.
    pub fn at_record(&mut self, record: u64, reason: Reason, description: impl FnOnce() -> String) {
        self.add(reason, || (format!("record {record}"), description()));
    }

    /// Adds a value of a record that does not fit.
    pub fn misfit(&mut self, record: u64, type_name: &str, property: &str, misfit: Misfit) {
        self.at_record(record, misfit.reason, || format!("{type_name}.{property}: {misfit}"));
    }

    /// Adds the problems of another part of the same input.
    pub fn absorb(&mut self, other: Self) {
        self.total += other.total;
        let free = MAX_REPORTED_VIOLATIONS - self.listed.len();
        self.listed.extend(other.listed.into_iter().take(free));
    }

    /// Nothing, or all problems as one error.
    ///
    /// # Errors
    /// [`Reason::InvalidRecord`] carrying the listed problems, if there are any.
    pub fn into_result(self) -> Result<(), Error> {
        if self.is_empty() { Ok(()) } else { Err(self.into_error()) }
    }

    /// All problems as one error.
    pub fn into_error(mut self) -> Error {
        self.listed.sort_by_key(|v| record_number(&v.field));
        let (total, listed) = (self.total, self.listed.len() as u64);
        let message = match total {
            1 => "the input has one problem and nothing was written".to_string(),
            _ if listed < total => {
                format!("the input has {total} problems and nothing was written; {listed} of them are:")
            }
            _ => format!("the input has {total} problems and nothing was written"),
        };
        Error::new(Reason::InvalidRecord, message).with("problems", total).with_violations(self.listed)
    }
}

fn record_number(field: &str) -> Option<u64> {
    let digits = field.strip_prefix("record ")?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}
