//! Which process holds a claim, and whether it still runs. Manners only: safety never depends on it.

use crate::format::intent_json::WriterDoc;

/// What is known of a claim's holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// It certainly runs no more.
    Gone,
    /// It runs, or nobody here can tell.
    Unknown,
}

/// This process, as named in its intents.
pub fn this(id: &str) -> WriterDoc {
    let pid = std::process::id();
    WriterDoc { id: id.to_string(), host: host(), pid, started: started(pid).unwrap_or(0), lease_until: 0 }
}

/// Looks for the holder in the process table it shares with us, if it does.
pub fn look_up(writer: &WriterDoc) -> Holder {
    if writer.host != host() || writer.host.is_empty() || writer.started == 0 {
        return Holder::Unknown;
    }
    match started(writer.pid) {
        Some(started) if started == writer.started => Holder::Unknown,
        // The number is free, or another process has it now.
        _ => Holder::Gone,
    }
}

/// Names the process table we see: one boot of one machine, one process namespace.
fn host() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace =
        std::fs::read_link("/proc/self/ns/pid").map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
    if boot.is_empty() || namespace.is_empty() { String::new() } else { format!("{}/{namespace}", boot.trim()) }
}

/// When a process started, in ticks since boot; `None` if there is none.
fn started(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses and may hold anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_run_and_a_reused_number_is_not_us() {
        let me = this("w");
        assert_eq!(look_up(&me), Holder::Unknown);
        if me.started > 0 {
            assert_eq!(look_up(&WriterDoc { started: me.started + 1, ..me.clone() }), Holder::Gone);
        }
        assert_eq!(look_up(&WriterDoc { host: "elsewhere".into(), ..me }), Holder::Unknown);
    }
}
