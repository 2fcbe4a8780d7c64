//! Free ports for programs that do not tell which one they took.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the ports that systems hand out by themselves: a store binds its last port seconds after it was
/// chosen, and meanwhile every connection of every other test takes one of those.
const FIRST: u16 = 12_000;
const COUNT: u16 = 18_000;

/// Ports of the loopback address that nobody listens on, each given out once.
///
/// # Errors
/// There are too few.
pub fn free(count: usize) -> io::Result<Vec<u16>> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Processes that run at the same time start at different places.
    let start = u16::try_from(std::process::id().wrapping_mul(97) % u32::from(COUNT)).unwrap_or(0);
    let mut held = Vec::with_capacity(count);
    for _ in 0..COUNT {
        if held.len() == count {
            break;
        }
        let step = NEXT.fetch_add(1, Ordering::SeqCst) % COUNT;
        let port = FIRST + u16::try_from((u32::from(start) + u32::from(step)) % u32::from(COUNT)).unwrap_or(0);
        held.extend(TcpListener::bind((Ipv4Addr::LOCALHOST, port)));
    }
    if held.len() < count {
        return Err(io::Error::other(format!("there are no {count} free ports")));
    }
    held.iter().map(|listener| listener.local_addr().map(|address| address.port())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_free_and_given_out_once() {
        let (mut some, more) = (free(8).unwrap(), free(8).unwrap());
        some.extend(more);
        some.sort_unstable();
        some.dedup();
        assert_eq!(some.len(), 16);
    }
}
