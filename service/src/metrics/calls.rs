//! How many calls ended, how, and how long they took. Counting takes no lock.
//!
//! Methods are those that this server offers; whatever else is called counts as one more, since callers could name any
//! number of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use omnigraph_proto::FILE_DESCRIPTOR_SET;
use prost::Message;
use prost_types::FileDescriptorSet;
use tonic::Code;

use super::text::{Kind, Page};

/// Upper ends of the buckets, in microseconds, and as the format writes them, in seconds.
const BUCKETS: [(u64, &str); 14] = [
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (5_000_000, "5"),
    (10_000_000, "10"),
    (60_000_000, "60"),
];

/// Buckets with the one above all ends.
const ALL_BUCKETS: usize = BUCKETS.len() + 1;

/// The codes by number, as the protocol names them.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// The methods of services whose descriptors are not at hand.
const OTHERS: [&str; 12] = [
    "arrow.flight.protocol.FlightService/DoAction",
    "arrow.flight.protocol.FlightService/DoExchange",
    "arrow.flight.protocol.FlightService/DoGet",
    "arrow.flight.protocol.FlightService/DoPut",
    "arrow.flight.protocol.FlightService/GetFlightInfo",
    "arrow.flight.protocol.FlightService/GetSchema",
    "arrow.flight.protocol.FlightService/Handshake",
    "arrow.flight.protocol.FlightService/ListActions",
    "arrow.flight.protocol.FlightService/ListFlights",
    "arrow.flight.protocol.FlightService/PollFlightInfo",
    "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// What counts as no known method.
const UNKNOWN: &str = "other";

/// See the module header.
#[derive(Debug)]
pub struct Calls {
    methods: Vec<Method>,
    by_name: HashMap<String, usize>,
}

#[derive(Debug)]
struct Method {
    name: String,
    codes: [Series; CODES.len()],
}

#[derive(Debug, Default)]
struct Series {
    buckets: [AtomicU64; ALL_BUCKETS],
    micros: AtomicU64,
}

/// Counts one call when it ends.
#[derive(Clone, Debug)]
pub struct Meter {
    calls: Arc<Calls>,
    method: usize,
}

impl Calls {
    /// None of any method of this server yet.
    pub fn of_this_server() -> Self {
        let described = [FILE_DESCRIPTOR_SET, tonic_health::pb::FILE_DESCRIPTOR_SET].into_iter().flat_map(described);
        Self::of(described.chain(OTHERS.map(str::to_string)))
    }

    fn of(methods: impl IntoIterator<Item = String>) -> Self {
        let mut names: Vec<String> = methods.into_iter().collect();
        names.sort_unstable();
        names.dedup();
        names.push(UNKNOWN.to_string());
        let by_name = names.iter().enumerate().map(|(position, name)| (name.clone(), position)).collect();
        let methods = names.into_iter().map(|name| Method { name, codes: Default::default() }).collect();
        Self { methods, by_name }
    }

    /// Counts a call of the method that the path of a request names.
    pub fn meter(self: &Arc<Self>, path: &str) -> Meter {
        let known = self.by_name.get(path.trim_start_matches('/')).copied();
        Meter { calls: self.clone(), method: known.unwrap_or(self.methods.len().saturating_sub(1)) }
    }

    /// Adds what was counted to a page.
    pub fn show(&self, page: &mut Page) {
        let total = "omnigraph_rpc_calls_total";
        page.family(total, Kind::Counter, "Calls that ended, by method and code.");
        let seen = self.methods.iter().flat_map(|method| {
            let counted = CODES.iter().zip(&method.codes).map(|(code, series)| (*code, series, series.counts()));
            counted.filter(|(_, _, counts)| counts.iter().any(|n| *n > 0)).map(move |seen| (method.name.as_str(), seen))
        });
        let seen: Vec<_> = seen.collect();
        for (method, (code, _, counts)) in &seen {
            page.sample(total, &[("method", *method), ("code", *code)], counts.iter().sum::<u64>());
        }
        let name = "omnigraph_rpc_duration_seconds";
        page.family(name, Kind::Histogram, "How long calls took, the whole of a streamed answer included.");
        for (method, (code, series, counts)) in &seen {
            series.show(page, name, [("method", *method), ("code", *code)], counts);
        }
    }
}

impl Series {
    fn counts(&self) -> [u64; ALL_BUCKETS] {
        std::array::from_fn(|n| self.buckets.get(n).map_or(0, |bucket| bucket.load(Ordering::Relaxed)))
    }

    fn show(&self, page: &mut Page, name: &str, of: [(&str, &str); 2], counts: &[u64; ALL_BUCKETS]) {
        let [method, code] = of;
        let ends = BUCKETS.iter().map(|(_, end)| *end).chain(["+Inf"]);
        let mut sum = 0_u64;
        for (end, count) in ends.zip(counts) {
            sum = sum.saturating_add(*count);
            page.sample(&format!("{name}_bucket"), &[method, code, ("le", end)], sum);
        }
        let seconds = self.micros.load(Ordering::Relaxed) as f64 / 1e6;
        page.sample(&format!("{name}_sum"), &[method, code], seconds);
        page.sample(&format!("{name}_count"), &[method, code], sum);
    }
}

impl Meter {
    /// The call ended like this, after so many microseconds.
    pub fn note(&self, code: Code, micros: u64) {
        let method = self.calls.methods.get(self.method);
        let series = usize::try_from(code as i32).ok().and_then(|code| method?.codes.get(code));
        let Some(series) = series else { return };
        let bucket = BUCKETS.iter().position(|(end, _)| micros <= *end).unwrap_or(BUCKETS.len());
        if let Some(bucket) = series.buckets.get(bucket) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        series.micros.fetch_add(micros, Ordering::Relaxed);
    }
}

/// The methods of every service in some encoded descriptors, as `package.Service/Method`.
fn described(descriptors: &[u8]) -> Vec<String> {
    // What does not decode counts as unknown; nothing else depends on it.
    let files = FileDescriptorSet::decode(descriptors).unwrap_or_default().file;
    let of_file = |file: prost_types::FileDescriptorProto| {
        let package = file.package().to_string();
        file.service.into_iter().flat_map(move |service| {
            let name = format!("{package}.{}", service.name());
            service.method.into_iter().map(move |method| format!("{name}/{}", method.name()))
        })
    };
    files.into_iter().flat_map(of_file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(calls: &Calls) -> String {
        let mut page = Page::default();
        calls.show(&mut page);
        page.into_text()
    }

    #[test]
    fn calls_are_counted_by_method_and_code() {
        let calls = Arc::new(Calls::of(["p.S/A".to_string(), "p.S/B".to_string()]));
        assert!(!shown(&calls).contains("method="));
        calls.meter("/p.S/A").note(Code::Ok, 1_000);
        calls.meter("/p.S/A").note(Code::Ok, 1_001);
        calls.meter("/p.S/A").note(Code::NotFound, u64::MAX);
        calls.meter("/anything/else").note(Code::Unauthenticated, 0);
        let text = shown(&calls);
        for line in [
            "omnigraph_rpc_calls_total{method=\"p.S/A\",code=\"OK\"} 2",
            "omnigraph_rpc_calls_total{method=\"p.S/A\",code=\"NOT_FOUND\"} 1",
            "omnigraph_rpc_calls_total{method=\"other\",code=\"UNAUTHENTICATED\"} 1",
            "omnigraph_rpc_duration_seconds_bucket{method=\"p.S/A\",code=\"OK\",le=\"0.001\"} 1",
            "omnigraph_rpc_duration_seconds_bucket{method=\"p.S/A\",code=\"OK\",le=\"0.0025\"} 2",
            "omnigraph_rpc_duration_seconds_bucket{method=\"p.S/A\",code=\"OK\",le=\"+Inf\"} 2",
            "omnigraph_rpc_duration_seconds_sum{method=\"p.S/A\",code=\"OK\"} 0.002001",
            "omnigraph_rpc_duration_seconds_count{method=\"p.S/A\",code=\"OK\"} 2",
            "omnigraph_rpc_duration_seconds_bucket{method=\"p.S/A\",code=\"NOT_FOUND\",le=\"60\"} 0",
            "omnigraph_rpc_duration_seconds_bucket{method=\"p.S/A\",code=\"NOT_FOUND\",le=\"+Inf\"} 1",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in {text}");
        }
        assert!(!text.contains("p.S/B") && !text.contains("anything"), "{text}");
    }

    #[test]
    fn every_code_has_its_name_and_every_service_its_methods() {
        for (number, name) in CODES.iter().enumerate() {
            let code = Code::from(i32::try_from(number).unwrap());
            assert_eq!(format!("{code:?}").to_uppercase(), name.replace('_', ""));
        }
        let calls = Calls::of_this_server();
        for method in [
            "omnigraph.v1.GraphService/GetGraph",
            "omnigraph.v1.MaintenanceService/GetStats",
            "grpc.health.v1.Health/Check",
            "arrow.flight.protocol.FlightService/DoGet",
        ] {
            assert!(calls.by_name.contains_key(method), "{method}");
        }
    }
}
