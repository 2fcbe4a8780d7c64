//! Every bound of the service: name, unit, value, reason. Bounds an operator may want to move are defaults
//! here and options in `config`; exceeding one is a typed error that carries the number.

use std::time::Duration;

/// Bytes of one request message. Larger inputs are loads, which come in chunks.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of the entities in one unary answer, roughly. Most gRPC clients refuse more than 4 MiB unless told
/// otherwise, and what surrounds the entities needs room.
pub const RESPONSE_BYTES: usize = 3 * 1024 * 1024;

/// Bytes of one encoded Flight batch, without the room its header needs to stay below 4 MiB. A single row
/// that is larger still travels whole.
pub const FLIGHT_BATCH_BYTES: usize = 4 * 1024 * 1024 - 128 * 1024;

/// Bytes of one chunk of an export.
pub const EXPORT_CHUNK_BYTES: usize = 1024 * 1024;

/// Bytes of one batch of differences, roughly. One that is larger still travels whole.
pub const CHANGE_BATCH_BYTES: usize = 1024 * 1024;

/// Differences in one batch.
pub const CHANGE_BATCH_ENTITIES: usize = 1000;

/// Bytes buffered before they are written to the spool file of a load.
pub const SPOOL_BUFFER_BYTES: usize = 1024 * 1024;

/// Bytes of one load. It is spooled to disk before it starts.
pub const MAX_LOAD_BYTES: u64 = 16 * 1024 * 1024 * 1024;

/// Bytes of all loads that are being spooled or are under way.
pub const MAX_SPOOLED_BYTES: u64 = 64 * 1024 * 1024 * 1024;

/// Bytes that the compressed buffers of one Flight message may claim to hold: a claim is an allocation.
pub const MAX_INFLATED_BYTES: u64 = 512 * 1024 * 1024;

/// Calls under way in the whole process. Each holds memory even when it waits.
pub const MAX_CALLS: usize = 1024;

/// Calls under way on one connection.
pub const MAX_STREAMS: u32 = 256;

/// Followers of branches in the whole process, beside the calls under way: they stay for as long as they like, and
/// each asks the store again and again whether there is something new.
pub const MAX_WATCHERS: usize = 256;

/// The part of the calls of one connection that may follow branches, so that room for others is left: one of so many.
pub const WATCHER_SHARE: usize = 2;

/// Entries on a page when the caller leaves it to the server.
pub const DEFAULT_PAGE_SIZE: usize = 100;

/// Entries on a page at most; a page is held in memory whole.
pub const MAX_PAGE_SIZE: usize = 1000;

/// Branches whose heads one page resolves at once.
pub const HEADS_AT_ONCE: usize = 8;

/// Nodes and edges of a neighbourhood when the caller leaves it to the server.
pub const DEFAULT_NEIGHBORS: usize = 1000;

/// Endpoints of a scan when the caller leaves it to the server.
pub const DEFAULT_ENDPOINTS: usize = 8;

/// Endpoints of a scan at most; each is a ticket of its own in one answer.
pub const MAX_ENDPOINTS: usize = 256;

/// Bytes of an actor's identity: it is stored with every commit.
pub const MAX_ACTOR_BYTES: usize = 200;

/// Bytes of a request id header: it is repeated in every line of the log.
pub const MAX_REQUEST_ID_BYTES: usize = 128;

/// Bytes of a page token before anything is decoded. It holds an entity id at most.
pub const MAX_PAGE_TOKEN_BYTES: usize = 16 * 1024;

/// Bytes of an error's message, which travels in a header. Common clients accept 8 KiB of headers and
/// trailers in all.
pub const MAX_STATUS_MESSAGE_BYTES: usize = 1024;

/// Bytes of an error's encoded details, which travel in a header as base64.
pub const MAX_STATUS_DETAIL_BYTES: usize = 4096;

/// Bytes of one value in an error's metadata.
pub const MAX_STATUS_VALUE_BYTES: usize = 256;

/// How long a caller waits before asking an overloaded server or an unavailable store again.
pub const RETRY_DELAY: Duration = Duration::from_secs(1);

/// How long an opening that failed is remembered. Repairing a graph needs no restart.
pub const QUARANTINE: Duration = Duration::from_secs(10);

/// Seconds, give or take a fifth, between looks for interrupted operations. Longer than most claims are honoured,
/// so that one look finds what the one before had to leave; each costs one listing of every open graph.
pub const RECOVERY_INTERVAL_SECONDS: u64 = 15;

/// Graphs that are looked at for interrupted operations at once.
pub const SWEEPS_AT_ONCE: usize = 4;

/// How long before its deadline a call ends, so that the caller still receives the reason, and so that the
/// transport's own timer, which would report a cancellation, never comes first.
pub const DEADLINE_MARGIN: Duration = Duration::from_millis(2);

/// Seconds that calls under way get to finish after a shutdown has begun.
pub const DRAIN_SECONDS: u64 = 30;

/// How often an idle connection is asked whether its other end is still there.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(60);

/// How long the other end may take to answer that.
pub const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// Bytes of one Flight message. Clients send batches as they have them and cannot always cut them.
pub const MAX_FLIGHT_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// Bytes that may be under way on a stream before its receiver says that it has taken some. Bounds what a
/// slow reader keeps in memory.
pub const STREAM_WINDOW_BYTES: u32 = 2 * 1024 * 1024;

/// How long a measurement of the graphs is shown before another one is made: however often metrics are read, the
/// store is not listed more often.
pub const STATS_FRESH: Duration = Duration::from_secs(30);

/// How long a reader of metrics waits for a measurement before it is shown the one before. Prometheus gives up after
/// 10 seconds.
pub const STATS_WAIT: Duration = Duration::from_secs(5);

/// How long one measurement of all graphs may take.
pub const STATS_PATIENCE: Duration = Duration::from_secs(300);

/// Graphs that are measured at once.
pub const LOOKS_AT_ONCE: usize = 2;

/// Readers of metrics at once: each gets a page of its own in memory.
pub const MAX_SCRAPES: usize = 4;

/// Tables of branches that metrics show, about ten samples each.
pub const MAX_METRIC_TABLES: usize = 10_000;
